//! Where a model's calls may break a schema although it promises that they do not, the runtime says
//! so as it starts.

use std::sync::Arc;

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, ModelError, ModelInfo, Unconstrained,
    },
    tool::ToolSpec,
};
use madang_actors::port::BoxFuture;
use madang_testing::{Logs, ScriptedModel};
use tokio_util::sync::CancellationToken;
use tracing::Level;

use crate::support::TestRuntime;

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

#[tokio::test]
async fn a_part_of_a_schema_that_calls_may_break_is_in_the_log() {
    let logs = Logs::keep(Level::WARN);
    let test = TestRuntime::new(Gapped(ScriptedModel::new([]))).await;
    let warned = logs.text();
    assert_eq!(warned.lines().count(), 1, "{warned}");
    for part in ["tool=note", "/properties/zip", "pattern", "the model's calls may break"] {
        assert!(warned.contains(part), "{part}: {warned}");
    }
    test.shutdown().await;
}
