//! Follows a plan without a memory: asks for the calls of the user's last text that have not returned yet.

use std::panic::resume_unwind;

use madang::{
    model::{Completion, FinishReason, ModelError, PromptMessage, Usage},
    tool::WantedCall,
};
use serde_json::json;

use super::{Act, TurnPlan};

/// Returns the next completion of the turn that the user's last text began.
///
/// # Errors
/// [`ModelError`] if that text is no plan, or if the plan says so.
///
/// # Panics
/// If the plan says so.
pub(super) fn follow(messages: &[PromptMessage]) -> Result<Completion, ModelError> {
    let is_plan = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
    let no_plan = || ModelError::failed(ModelError::BAD_OUTPUT);
    let begin = messages.iter().rposition(is_plan).ok_or_else(no_plan)?;
    let PromptMessage::User { text } = &messages[begin] else { return Err(no_plan()) };
    let ended = messages[begin..]
        .iter()
        .filter(|message| matches!(message, PromptMessage::ToolCall { .. }))
        .count();
    let plan = TurnPlan::read(text).ok_or_else(no_plan)?;
    let steps = match plan.after(ended) {
        [step, ..] if step.act == Act::ModelFails => return Err(ModelError::failed("Planned")),
        // A usual panic, except that it is not printed.
        [step, ..] if step.act == Act::ModelPanics => resume_unwind(Box::new("planned")),
        [step, ..] if step.act == Act::Answer => &[],
        steps => steps,
    };
    let calls = steps.iter().map(|step| WantedCall {
        opaque: None,
        name: step.act.name().into(),
        arguments: json!({ "token": step.token }).to_string().into(),
    });
    let tool_calls: Vec<WantedCall> = calls.collect();
    let is_last = tool_calls.is_empty();
    Ok(Completion {
        text: if is_last { "done".to_owned() } else { "wait".to_owned() },
        tool_calls,
        finish: if is_last { FinishReason::Stop } else { FinishReason::ToolCalls },
        usage: Usage::default(),
        left_out: 0,
    })
}
