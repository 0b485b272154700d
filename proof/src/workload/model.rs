//! A model that follows the plan in the user's text, or fails: with an error, a panic, nonsense, or
//! not at all.

use std::panic::resume_unwind;

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError, ModelInfo,
        PromptMessage,
    },
    tool::{BoxFuture, WantedCall},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Fate, Point};
use crate::{mistakes::Mistake, oracle::token_of};

/// Follows plans, as far as fate lets it.
#[derive(Debug)]
pub(crate) struct FickleModel {
    pub(super) fate: Fate,
    pub(super) mistake: Option<Mistake>,
    /// Completions at once.
    pub(super) at_once: usize,
    /// Reads the plan in the user's text, and gives the completion that it wants next.
    pub(super) follow: fn(&[PromptMessage]) -> Result<Completion, ModelError>,
}

impl FickleModel {
    async fn answer(
        &self,
        request: &CompletionRequest,
        deltas: &Deltas,
    ) -> Result<Completion, ModelError> {
        let fate = &self.fate;
        let session = &request.session;
        fate.pass(Point::ModelAsked, format_args!("model asked by {session}"));
        fate.pause().await;
        if fate.fails_once_in(60) {
            return Err(ModelError::failed("Offline"));
        }
        // Where another model stands behind it, that one answers.
        if fate.fails_once_in(20) {
            fate.note(format_args!("model too busy for {session}"));
            return Err(ModelError::Overloaded { retry_after: None });
        }
        if fate.fails_once_in(30) {
            fate.note(format_args!("model lost by {session}"));
            return Err(ModelError::failed(ModelError::CONNECTION_LOST));
        }
        if fate.fails_once_in(120) {
            // A usual panic, except that it is not printed.
            resume_unwind(Box::new("the model panics on purpose"));
        }
        let mut completion = (self.follow)(&request.messages)?;
        if fate.fails_once_in(40) {
            completion.tool_calls.push(self.nonsense());
            completion.finish = FinishReason::ToolCalls;
        }
        if fate.fails_once_in(30)
            && let Some(last) = completion.tool_calls.last_mut()
        {
            fate.note(format_args!("model cut off in a call for {session}"));
            *last = cut_off(last);
            let is_hidden = self.mistake == Some(Mistake::ModelHidesCuts);
            let finish = if is_hidden { FinishReason::ToolCalls } else { FinishReason::Length };
            completion.finish = finish;
        }
        deltas.text(&completion.text[..2.min(completion.text.len())]);
        fate.note(format_args!("model speaks to {session}"));
        fate.thinks().await;
        deltas.text(completion.text.get(2..).unwrap_or_default());
        if fate.fails_once_in(120) {
            fate.note(format_args!("model hangs for {session}"));
            std::future::pending::<()>().await;
        }
        fate.pass(Point::ModelAnswers, format_args!("model ends for {session}"));
        fate.pause().await;
        if self.mistake == Some(Mistake::ModelRepeatsCalls) {
            completion.tool_calls.extend(completion.tool_calls.clone());
        }
        Ok(completion)
    }

    fn nonsense(&self) -> WantedCall {
        let name = self.fate.pick(&["gone", "save", "erase", ""]);
        let arguments = self.fate.pick(&["{", "[]", "{\"token\": 1}", "null", "{}"]);
        WantedCall::new(*name, *arguments)
    }
}

/// The beginning of each token in a call that the model did not finish.
pub(crate) const CUT_OFF: &str = "cut.";

/// Gives a call as it stands where the model is cut off in it. Its arguments can be read, and are
/// not the whole ones.
fn cut_off(whole: &WantedCall) -> WantedCall {
    let token = token_of(&Value::String(whole.arguments.to_string())).unwrap_or_default();
    WantedCall::new(&*whole.name, json!({ "token": format!("{CUT_OFF}{token}") }).to_string())
}

impl ChatModel for FickleModel {
    fn info(&self) -> ModelInfo {
        let max_concurrent = self.at_once;
        ModelInfo { name: "fickle".into(), has_parallel_calls: true, max_concurrent }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            // One in four is deaf: it speaks to its end although it was cancelled.
            let hears = self.fate.below(4) > 0;
            tokio::select! {
                biased;
                () = cancel.cancelled(), if hears => {
                    Err(ModelError::Cancelled { usage: Default::default() })
                }
                answer = self.answer(&request, &deltas) => answer,
            }
        })
    }
}
