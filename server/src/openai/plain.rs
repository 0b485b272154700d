//! A completion without a stream: it waits for the end of the turn.

use std::time::Duration;

use axum::response::Response;
use madang::{
    Turn, TurnEvents,
    error::TurnError,
    event::{EventKind, StreamItem, TurnEnding},
    model::{ModelError, Usage},
};
use serde_json::json;
use tokio::time::timeout;

use super::chunk::{Answer, Head, usage};
use crate::{
    accept::drain::DrainPhase,
    answer,
    problem::{Problem, ProblemName},
    state::Shared,
};

/// The end of a turn as this surface tells it.
#[derive(Debug)]
struct Told {
    text: String,
    ending: TurnEnding,
    failed: Option<(TurnError, String)>,
    cost: Usage,
}

/// Waits for the end of a turn and gives the completion. A client that leaves cancels nothing.
///
/// # Errors
/// A problem where the turn fails, is dismissed, or takes longer than clients wait. The same request joins it again.
pub(super) async fn wait(shared: &Shared, turn: Turn, head: Head) -> Result<Response, Problem> {
    let id = head.turn;
    wait_for(shared, turn, head).await.map_err(|problem| problem.with("turn", id))
}

async fn wait_for(shared: &Shared, turn: Turn, head: Head) -> Result<Response, Problem> {
    let events = turn.events();
    let ended = tokio::select! {
        biased;
        () = shared.drain.reached(DrainPhase::Leaving) => return Err(Problem::draining()),
        ended = timeout(shared.limits.completion_wait, ended(events)) => ended,
    };
    let Ok(ended) = ended else {
        return Err(Problem::new(
            ProblemName::StillWaiting,
            "턴이 아직 끝나지 않았습니다. 같은 요청을 다시 보내면 이어집니다.",
            "The turn has not ended yet. The same request joins it again.",
        ));
    };
    let Told { text, ending, failed, cost } = ended?;
    match ending {
        TurnEnding::Answered | TurnEnding::Stopped => {}
        TurnEnding::Dismissed => {
            let problem = failure("턴이 취소되었습니다.".into(), "The turn was dismissed.".into());
            return Err(problem.with("kind", "dismissed"));
        }
        TurnEnding::Failed => {
            let Some((error, text)) = failed else {
                return Err(failure("턴이 실패했습니다.".into(), "The turn failed.".into()));
            };
            return Err(match error {
                TurnError::Model { kind, retry_after_ms } if kind == ModelError::OVERLOADED => {
                    let problem = Problem::new(ProblemName::TooMany, text.clone(), text);
                    problem.retry_after(Duration::from_millis(retry_after_ms.unwrap_or(1_000)))
                }
                TurnError::Model { kind, .. } => failure(text.clone(), text).with("kind", kind),
                TurnError::TooManyRounds | TurnError::Store | TurnError::CutOff | _ => {
                    failure(text.clone(), text)
                }
            });
        }
    }
    let message = json!({ "role": "assistant", "content": text, "refusal": null });
    Ok(answer::json(&json!({
        "id": head.id(),
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" }],
        "usage": usage(cost),
    })))
}

/// Makes the problem of a turn that has ended so: the same request finds the same end.
fn failure(ko: String, en: String) -> Problem {
    Problem::new(ProblemName::Model, ko, en).not_again()
}

async fn ended(mut events: TurnEvents) -> Result<Told, Problem> {
    let (mut text, mut answer, mut failed) = (String::new(), Answer::default(), None);
    while let Some(item) = events.next().await {
        let event = match item {
            StreamItem::Event(event) => event,
            StreamItem::ReplayFailed => return Err(Problem::unread()),
            StreamItem::Text { .. }
            | StreamItem::Thinking { .. }
            | StreamItem::Lagged { .. }
            | _ => continue,
        };
        if let EventKind::ModelMessage { text: said, .. } = &event.kind {
            text.push_str(&answer.message(said));
        } else if let EventKind::Error { error, text } = &event.kind {
            failed = Some((error.clone(), text.clone()));
        } else if let EventKind::TurnEnded { ending, usage } = event.kind {
            return Ok(Told { text, ending, failed, cost: usage });
        }
    }
    // The runtime left the turn to its next start.
    Err(Problem::draining())
}
