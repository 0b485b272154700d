//! What a model without a memory asks for: what the plan in the user's last text has and has not come back yet.

use std::panic::resume_unwind;

use madang::{
    model::{Completion, FinishReason, ModelError, PromptMessage, Usage},
    tool::WantedCall,
};
use serde_json::json;

use super::{Act, TurnPlan};

/// What comes next in the turn that the last user's text began.
///
/// # Errors
/// [`ModelError`] where that is no plan, and where the plan wants it.
///
/// # Panics
/// Where the plan wants it.
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
        // A panic like any other, but that it is not printed.
        [step, ..] if step.act == Act::ModelPanics => resume_unwind(Box::new("planned")),
        [step, ..] if step.act == Act::Answer => &[],
        steps => steps,
    };
    let calls = steps.iter().map(|step| WantedCall {
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
