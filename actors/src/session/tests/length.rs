//! A completion that reached its bound: what it said and asked for counts, and if that is nothing,
//! it says why.

use super::{by_hand, calling};
use crate::{
    port::ModelError,
    protocol::{Completion, FinishReason, TurnEnding, TurnError, Usage},
    test_runtime::in_time,
    testing::FakeTool,
};

fn cut(completion: Completion) -> Completion {
    Completion { finish: FinishReason::Length, ..completion }
}

#[tokio::test]
async fn a_completion_that_was_cut_counts_as_far_as_it_came() {
    let tool = FakeTool::read("look");
    let runs = tool.runs();
    let (runtime, mut script) = by_hand([tool]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    // The bound may have cut the last call off, so it alone does not run.
    script.next().await.finish(cut(calling("", &["look", "look"])));
    script.next().await.finish(cut(calling("It begins with", &[])));
    let end = in_time(end).await.unwrap();
    assert_eq!((end.ending, end.error, runs.count()), (TurnEnding::Answered, None, 1));
}

#[tokio::test]
async fn where_nothing_was_said_before_the_bound_the_turn_fails_with_that_as_its_reason() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    for (completion, kind) in [
        (cut(calling(" ", &[])), ModelError::TOO_LONG),
        (calling(" ", &[]), ModelError::BAD_OUTPUT),
    ] {
        let usage = Usage { prompt_tokens: 3, cached_tokens: 1, completion_tokens: 1_024 };
        let end = runtime.ask(&slot, "hi").await.unwrap();
        script.next().await.finish(Completion { usage, ..completion });
        let end = in_time(end).await.unwrap();
        assert_eq!((end.ending, end.error), (TurnEnding::Failed, Some(TurnError::model(kind))));
        assert_eq!(end.usage, usage, "it was spent all the same");
    }
}
