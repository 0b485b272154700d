//! Collects every value that the runtime measures of its completions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

use crate::failure::Failure;

/// The values of each histogram by name; counts of tokens have the type of token in the name.
pub(crate) type Values = HashMap<String, Vec<f64>>;

/// Keeps every measured value: their number is bounded by the command's own options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measures(Arc<Mutex<Values>>);

impl Measures {
    /// Listens to all measurements of this process.
    pub(crate) fn install() -> Result<Self, Failure> {
        let measures = Self::default();
        metrics::set_global_recorder(measures.clone())
            .map_err(|cause| Failure::because("failed to measure: something else does", cause))?;
        Ok(measures)
    }

    /// Returns the values so far.
    pub(crate) fn take(&self) -> Values {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recorder for Measures {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let kind = key.labels().find(|label| label.key() == "gen_ai.token.type");
        let name = match kind {
            Some(kind) => format!("{} {}", key.name(), kind.value()),
            None => key.name().to_owned(),
        };
        Histogram::from_arc(Arc::new(One { name, all: self.clone() }))
    }
}

/// One histogram.
struct One {
    name: String,
    all: Measures,
}

impl HistogramFn for One {
    fn record(&self, value: f64) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&self.name) {
            Some(values) => values.push(value),
            None => drop(all.insert(self.name.clone(), vec![value])),
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::{histogram, with_local_recorder};

    use super::*;

    #[test]
    fn values_are_kept_by_name_and_kind_of_token() {
        let measures = Measures::default();
        with_local_recorder(&measures, || {
            histogram!("wait").record(1.0);
            histogram!("wait", "model" => "a").record(2.0);
            histogram!("tokens", "gen_ai.token.type" => "input").record(3.0);
        });
        let values = measures.take();
        assert_eq!(values["wait"], [1.0, 2.0]);
        assert_eq!(values["tokens input"], [3.0]);
        assert!(measures.take().is_empty());
    }
}
