//! Collects every value that the runtime measures of its completions.

use std::collections::HashMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use crate::failure::Failure;

/// The values of each histogram by name; counts of tokens have the type of token in the name.
pub(crate) type Values = HashMap<String, Vec<f64>>;

/// Keeps every measured value: their number is bounded by the command's own options.
#[derive(Debug)]
pub(crate) struct Measures(Snapshotter);

impl Measures {
    /// Listens to all measurements of this process.
    pub(crate) fn install() -> Result<Self, Failure> {
        let recorder = DebuggingRecorder::new();
        let measures = Self(recorder.snapshotter());
        metrics::set_global_recorder(recorder)
            .map_err(|cause| Failure::because("failed to measure: something else does", cause))?;
        Ok(measures)
    }

    /// Returns the values so far.
    pub(crate) fn take(&self) -> Values {
        let mut all = Values::new();
        for (key, _, _, value) in self.0.snapshot().into_vec() {
            let DebugValue::Histogram(values) = value else { continue };
            let key = key.key();
            let kind = key.labels().find(|label| label.key() == "gen_ai.token.type");
            let name = match kind {
                Some(kind) => format!("{} {}", key.name(), kind.value()),
                None => key.name().to_owned(),
            };
            if !values.is_empty() {
                all.entry(name).or_default().extend(values.into_iter().map(f64::from));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use metrics::{histogram, with_local_recorder};

    use super::*;

    #[test]
    fn values_are_kept_by_name_and_kind_of_token() {
        let recorder = DebuggingRecorder::new();
        let measures = Measures(recorder.snapshotter());
        with_local_recorder(&recorder, || {
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
