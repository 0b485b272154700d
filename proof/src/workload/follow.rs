//! Follows a plan without a memory: asks for the calls of the user's last text that have not
//! returned yet.

use std::{panic::resume_unwind, sync::Arc};

use madang::{
    model::{Completion, FinishReason, ModelError, PromptMessage},
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
    let no_plan = || ModelError::failed(ModelError::BAD_OUTPUT);
    let (text, ended) = last_turn(messages).ok_or_else(no_plan)?;
    let plan = TurnPlan::read(text).ok_or_else(no_plan)?;
    let steps = match plan.after(ended) {
        [step, ..] if step.act == Act::ModelFails => return Err(ModelError::failed("Planned")),
        // A usual panic, except that it is not printed.
        [step, ..] if step.act == Act::ModelPanics => resume_unwind(Box::new("planned")),
        [step, ..] if step.act == Act::Answer => &[],
        steps => steps,
    };
    Ok(asking(steps.iter().map(|step| (step.act.name(), &*step.token))))
}

/// Returns the user's last text, and the number of calls that have returned since.
pub(crate) fn last_turn(messages: &[PromptMessage]) -> Option<(&str, usize)> {
    let is_call = |message: &&PromptMessage| matches!(message, PromptMessage::ToolCall { .. });
    let (begin, text) = messages.iter().enumerate().rev().find_map(|(index, message)| {
        if let PromptMessage::User { text } = message { Some((index, &**text)) } else { None }
    })?;
    Some((text, messages[begin..].iter().filter(is_call).count()))
}

/// Asks for these tools, each with a token; without any, the turn is answered.
pub(crate) fn asking<'a, N: Into<Arc<str>>>(
    calls: impl Iterator<Item = (N, &'a str)>,
) -> Completion {
    let wanted = |(tool, token)| WantedCall::new(tool, json!({ "token": token }).to_string());
    let tool_calls: Vec<_> = calls.map(wanted).collect();
    let (text, finish) = match &*tool_calls {
        [] => ("done", FinishReason::Stop),
        _ => ("wait", FinishReason::ToolCalls),
    };
    Completion { text: text.to_owned(), tool_calls, finish, ..Completion::default() }
}
