//! A model without a memory: it reads the plan in the user's last text and asks for what has not come back yet.

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError, ModelInfo,
        PromptMessage, Usage,
    },
    tool::{BoxFuture, WantedCall},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    plan::TurnPlan,
    point::{Point, Points},
};

/// Follows the plan of each turn.
#[derive(Debug)]
pub(super) struct PlanModel {
    points: Points,
}

impl PlanModel {
    pub(super) const fn new(points: Points) -> Self {
        Self { points }
    }
}

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
            self.points.pass(Point::ModelAsked);
            let completion = follow(&request.messages)
                .ok_or_else(|| ModelError::failed(ModelError::BAD_OUTPUT))?;
            deltas.text(&completion.text);
            tokio::task::yield_now().await;
            self.points.pass(Point::ModelAnswers);
            Ok(completion)
        })
    }
}

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
