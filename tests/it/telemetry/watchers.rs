//! The watchers of a runtime, for one thread: a subscriber that keeps spans, and a recorder that
//! keeps metrics.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// One span of the library's, as it was last seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    name: &'static str,
    parent: Option<usize>,
    pub(super) fields: BTreeMap<&'static str, String>,
    is_closed: bool,
}

/// Keeps every span of the library's that was opened on this thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans(Arc<Mutex<Vec<Seen>>>);

/// Where a span is kept.
struct Position(usize);

impl Spans {
    /// Watches this thread until the guard is dropped.
    pub(super) fn watch() -> (Self, tracing::subscriber::DefaultGuard) {
        let spans = Self::default();
        let subscriber = tracing_subscriber::registry().with(spans.clone());
        (spans, madang_testing::listen(subscriber))
    }

    pub(super) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    /// The spans as a tree, in the order in which they were opened, ids by their presence only.
    pub(super) fn tree(&self) -> String {
        let all = self.all();
        let mut tree = String::new();
        write_below(None, "", &all, &mut tree);
        tree.trim_end().to_owned()
    }
}

fn write_below(parent: Option<usize>, indent: &str, all: &[Seen], tree: &mut String) {
    for (index, span) in all.iter().enumerate().filter(|(_, span)| span.parent == parent) {
        writeln!(tree, "{indent}{}{}", span.name, if span.is_closed { "" } else { " (open)" })
            .unwrap();
        for (field, value) in &span.fields {
            let is_id = field.ends_with(".id") && *field != "gen_ai.conversation.id";
            let value = if is_id && *field != "user.id" { "<id>" } else { value };
            writeln!(tree, "{indent}  {field}={value}").unwrap();
        }
        write_below(Some(index), &format!("{indent}    "), all, tree);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if !attributes.metadata().target().starts_with("madang") {
            return;
        }
        let span = ctx.span(id).unwrap();
        let index_of = |span: tracing_subscriber::registry::SpanRef<'_, S>| {
            span.extensions().get::<Position>().map(|index| index.0)
        };
        let mut seen = Seen {
            name: attributes.metadata().name(),
            parent: span.parent().and_then(index_of),
            ..Seen::default()
        };
        attributes.record(&mut seen);
        let mut all = self.0.lock().unwrap();
        span.extensions_mut().insert(Position(all.len()));
        all.push(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        if let Some(index) = ctx.span(id).unwrap().extensions().get::<Position>() {
            values.record(&mut self.0.lock().unwrap()[index.0]);
        }
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        if let Some(index) = ctx.span(&id).unwrap().extensions().get::<Position>() {
            self.0.lock().unwrap()[index.0].is_closed = true;
        }
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

/// Keeps every metric that was recorded on this thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Meters {
    series: Arc<Mutex<BTreeMap<String, Arc<Series>>>>,
    described: Arc<Mutex<Vec<String>>>,
}

/// What was recorded under one name and one set of labels: a sum, or every value.
#[derive(Debug, Default)]
pub(super) struct Series(Mutex<Vec<f64>>);

impl Meters {
    /// The names of all series: `name{label=value,..}`.
    pub(super) fn names(&self) -> Vec<String> {
        self.series.lock().unwrap().keys().cloned().collect()
    }

    /// How much was counted under this name, or the sum of what was measured.
    pub(super) fn sum(&self, series: &str) -> Option<f64> {
        let series = self.series.lock().unwrap().get(series)?.clone();
        let sum = series.0.lock().unwrap().iter().sum();
        Some(sum)
    }

    /// How many values were recorded under this name.
    pub(super) fn count(&self, series: &str) -> usize {
        let series = self.series.lock().unwrap().get(series).cloned();
        series.map_or(0, |series| series.0.lock().unwrap().len())
    }

    pub(super) fn described(&self) -> Vec<String> {
        self.described.lock().unwrap().clone()
    }

    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        self.series.lock().unwrap().entry(name).or_default().clone()
    }

    fn describe(&self, kind: &str, name: &KeyName, unit: Option<Unit>) {
        let unit = unit.map_or("no unit", |unit| unit.as_str());
        self.described.lock().unwrap().push(format!("{} {kind} {unit}", name.as_str()));
    }
}

impl Series {
    fn push(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.push(value as f64);
    }

    fn absolute(&self, _: u64) {
        panic!("the library only counts");
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.push(value);
    }

    fn decrement(&self, value: f64) {
        self.push(-value);
    }

    fn set(&self, _: f64) {
        panic!("two runtimes in one process would overwrite each other");
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.push(value);
    }
}

impl Recorder for Meters {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("counter", &name, unit);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("gauge", &name, unit);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("histogram", &name, unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}
