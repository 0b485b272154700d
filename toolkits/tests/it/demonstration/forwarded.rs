//! Tests that everything a model says of itself comes through.

use madang::{
    model::{
        Caveat, ChatModel, Completion, CompletionDelta, CompletionRequest, Deltas, FinishReason,
        ModelError, ModelInfo, Unconstrained, Usage,
    },
    tool::{BoxFuture, Locale, ToolSpec, WantedCall},
};
use madang_toolkits::demonstration::Demonstration;
use tokio_util::sync::CancellationToken;

use super::{request, user};

/// A model that says something with each of its methods.
#[derive(Debug, Default)]
pub(crate) struct Told {
    fails: bool,
}

fn completion() -> Completion {
    Completion {
        text: "Hello.".to_owned(),
        tool_calls: vec![WantedCall::new("ping", "{}".to_owned())],
        finish: FinishReason::Length,
        usage: Usage { prompt_tokens: 1, cached_tokens: 2, completion_tokens: 3 },
        left_out: 4,
    }
}

impl ChatModel for Told {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "told".into(), has_parallel_calls: true, max_concurrent: 7 }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        assert_eq!(
            (request.max_tokens, request.session.as_str(), request.user.as_str()),
            (100, "chat", "kim")
        );
        deltas.push(CompletionDelta::Began);
        deltas.push(CompletionDelta::Thinking("hm"));
        Box::pin(async move {
            match (self.fails, cancel.is_cancelled()) {
                (_, true) => Err(ModelError::Cancelled { usage: completion().usage }),
                (true, false) => Err(ModelError::failed(ModelError::REPETITION)),
                (false, false) => Ok(completion()),
            }
        })
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        let gap = |tool: &ToolSpec| Unconstrained {
            tool: tool.name.clone(),
            pointer: "/x".to_owned(),
            keyword: "size".to_owned(),
        };
        tools.iter().map(gap).collect()
    }

    fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NoTemplate]
    }
}

#[tokio::test]
async fn all_that_the_model_says_of_itself_and_of_a_completion_comes_through() {
    let model = Demonstration::new(Told::default());
    assert_eq!(model.info(), Told::default().info());
    assert_eq!(model.caveats(), [Caveat::NoTemplate, Caveat::Demonstration]);
    assert_eq!(model.inner().info(), model.info());
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = heard.clone();
    let deltas = Deltas::new(move |delta| hears.lock().unwrap().push(format!("{delta:?}")));
    let wanted = || request(vec![user("hi")], Locale::EN);
    let answered = model.complete(wanted(), deltas, CancellationToken::new()).await.unwrap();
    assert_eq!(answered, completion());
    assert_eq!(*heard.lock().unwrap(), ["Began", "Thinking(\"hm\")"]);

    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = model.complete(wanted(), Deltas::ignored(), cancel).await.unwrap_err();
    assert!(matches!(ended, ModelError::Cancelled { usage } if usage == completion().usage));
    let model = Demonstration::new(Told { fails: true });
    let ended = model.complete(wanted(), Deltas::ignored(), CancellationToken::new()).await;
    assert_eq!(ended.unwrap_err().kind(), ModelError::REPETITION);
}
