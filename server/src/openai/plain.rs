//! Answers without a stream, after the end of the turn.

use std::{borrow::Cow, time::Duration};

use axum::response::Response;
use madang::{Turn, error::TurnError, event::TurnEnding, model::ModelError};
use serde_json::json;

use super::chunk::{CONTEXT_LENGTH_EXCEEDED, Head, usage};
use crate::{
    answer,
    ended::{Calls, FailedTurn, ended_within},
    problem::{Problem, ProblemName},
    state::Shared,
};

/// Waits for the end of a turn and returns the completion. If the future is dropped, nothing is
/// cancelled.
///
/// # Errors
/// Returns a problem if the turn fails, is dismissed, or takes longer than clients wait. The same
/// request joins it again.
pub(super) async fn wait(shared: &Shared, turn: Turn, head: Head) -> Result<Response, Problem> {
    let id = head.turn;
    wait_for(shared, turn, head).await.map_err(|problem| problem.with("turn", id))
}

async fn wait_for(shared: &Shared, turn: Turn, head: Head) -> Result<Response, Problem> {
    let wait = shared.limits.completion_wait;
    let ended = ended_within(shared, turn.id(), turn.events(), wait, Calls::LeftOut).await?;
    match ended.ending {
        TurnEnding::Answered | TurnEnding::Stopped => {}
        TurnEnding::Dismissed => {
            let problem = failure("The turn was dismissed.");
            return Err(problem.with("kind", "dismissed"));
        }
        TurnEnding::Failed => {
            let Some(FailedTurn { error, text }) = ended.error else {
                return Err(failure("The turn failed."));
            };
            return Err(match error {
                TurnError::Model { kind, retry_after_ms, .. } if kind == ModelError::OVERLOADED => {
                    let problem = Problem::new(ProblemName::TooMany, text);
                    problem.retry_after(Duration::from_millis(retry_after_ms.unwrap_or(1_000)))
                }
                TurnError::Model { kind, .. } if kind == ModelError::PROMPT_TOO_LONG => {
                    let problem = Problem::new(ProblemName::PromptTooLong, text);
                    problem.with("kind", CONTEXT_LENGTH_EXCEEDED)
                }
                TurnError::Model { kind, .. } => failure(text).with("kind", kind),
                TurnError::TooManyRounds | TurnError::CutOff | _ => failure(text),
            });
        }
    }
    let message = json!({ "role": "assistant", "content": ended.text, "refusal": null });
    Ok(answer::json(&json!({
        "id": head.id(),
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" }],
        "usage": usage(ended.usage),
    })))
}

/// Makes the problem of a turn that has ended like this. The same request finds the same end.
fn failure(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(ProblemName::Model, detail).not_again()
}
