//! The scripted model of a run: it reads the plan in the user's last text and asks for what has not come back yet.

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError, ModelInfo,
        PromptMessage, Usage,
    },
    tool::{BoxFuture, WantedCall},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::plan::{CallPlan, Fault, ModelFault, TurnPlan};

/// Follows the plan of each turn, at once.
#[derive(Debug)]
pub(super) struct PlanModel;

impl ChatModel for PlanModel {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "plan".into(), has_parallel_calls: true, max_concurrent: usize::MAX }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            let (plan, ended) = plan_of(&request.messages)
                .ok_or_else(|| ModelError::failed(ModelError::BAD_OUTPUT))?;
            let wanted = |call: &CallPlan| WantedCall {
                name: call.act.name().into(),
                arguments: json!({ "fault": call.fault.map(Fault::name) }).to_string().into(),
            };
            let tool_calls: Vec<_> = plan.after(ended).iter().map(wanted).collect();
            if tool_calls.is_empty() {
                match plan.model {
                    None => {}
                    Some(ModelFault::Fails) => return Err(ModelError::failed("Planned")),
                    // A panic like any other, but not printed.
                    Some(ModelFault::Panics) => std::panic::resume_unwind(Box::new("planned")),
                }
            }
            let (text, finish) = if tool_calls.is_empty() {
                ("done", FinishReason::Stop)
            } else {
                ("wait", FinishReason::ToolCalls)
            };
            deltas.text(text);
            Ok(Completion {
                text: text.to_owned(),
                tool_calls,
                finish,
                usage: Usage::default(),
                left_out: 0,
            })
        })
    }
}

/// The plan that the last user's text carries, and how many of its calls have come back.
fn plan_of(messages: &[PromptMessage]) -> Option<(TurnPlan, usize)> {
    let is_users = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
    let begin = messages.iter().rposition(is_users)?;
    let PromptMessage::User { text } = &messages[begin] else { return None };
    let is_call = |message: &&PromptMessage| matches!(message, PromptMessage::ToolCall { .. });
    Some((TurnPlan::read(text)?, messages[begin..].iter().filter(is_call).count()))
}
