//! Where a model's calls may break a schema although it promises that they do not, the runtime says so as it starts.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, ModelError, ModelInfo, Unconstrained,
    },
    tool::ToolSpec,
};
use madang_actors::port::BoxFuture;
use madang_testing::ScriptedModel;
use tokio_util::sync::CancellationToken;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
};

use crate::support::{TestRuntime, watch};

/// A model that cannot follow one keyword of each tool.
#[derive(Debug)]
struct Gapped(ScriptedModel);

impl ChatModel for Gapped {
    fn info(&self) -> ModelInfo {
        self.0.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        self.0.complete(request, deltas, cancel)
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        let gap = |tool: &ToolSpec| Unconstrained {
            tool: Arc::clone(&tool.name),
            pointer: "/properties/zip".into(),
            keyword: "pattern".into(),
        };
        tools.iter().filter(|tool| &*tool.name == "note").map(gap).collect()
    }
}

/// Keeps the warnings of this thread.
#[derive(Debug, Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

#[tokio::test]
async fn a_part_of_a_schema_that_calls_may_break_is_in_the_log() {
    let warnings = Warnings::default();
    let subscriber = tracing_subscriber::registry().with(warnings.clone());
    let watching = watch(subscriber);
    let test = TestRuntime::new(Gapped(ScriptedModel::new([]))).await;
    drop(watching);
    let lines = warnings.0.lock().unwrap().clone();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in ["tool=note", "/properties/zip", "pattern", "the model's calls may break"] {
        assert!(lines[0].contains(part), "{part}: {lines:?}");
    }
    test.shutdown().await;
}
