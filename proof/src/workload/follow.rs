//! What a model without a memory asks for: what the plan in the user's last text has and has not come back yet.

use madang::{
    model::{Completion, FinishReason, PromptMessage, Usage},
    tool::WantedCall,
};
use serde_json::json;

use super::TurnPlan;

/// What comes next in the turn that the last user's text began; `None` where that is no plan.
pub(crate) fn follow(messages: &[PromptMessage]) -> Option<Completion> {
    let is_plan = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
    let begin = messages.iter().rposition(is_plan)?;
    let PromptMessage::User { text } = &messages[begin] else { return None };
    let ended = messages[begin..]
        .iter()
        .filter(|message| matches!(message, PromptMessage::ToolCall { .. }))
        .count();
    let plan = TurnPlan::read(text)?;
    let calls = plan.after(ended).iter().map(|step| WantedCall {
        name: step.act.name().into(),
        arguments: json!({ "token": step.token }).to_string().into(),
    });
    let tool_calls: Vec<WantedCall> = calls.collect();
    let is_last = tool_calls.is_empty();
    Some(Completion {
        text: if is_last { "done".to_owned() } else { "wait".to_owned() },
        tool_calls,
        finish: if is_last { FinishReason::Stop } else { FinishReason::ToolCalls },
        usage: Usage::default(),
        left_out: 0,
    })
}
