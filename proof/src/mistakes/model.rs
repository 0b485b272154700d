//! A model that asks for the same call twice.

use madang::{
    model::{ChatModel, Completion, CompletionRequest, Deltas, ModelError, ModelInfo},
    tool::BoxFuture,
};
use tokio_util::sync::CancellationToken;

use super::Mistake;

/// A model with a mistake.
#[derive(Debug)]
pub(crate) struct MistakenModel<M> {
    pub(crate) model: M,
    pub(crate) mistake: Option<Mistake>,
}

impl<M: ChatModel> ChatModel for MistakenModel<M> {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            let mut completion = self.model.complete(request, deltas, cancel).await?;
            if self.mistake == Some(Mistake::ModelRepeatsCalls) {
                completion.tool_calls.extend(completion.tool_calls.clone());
            }
            Ok(completion)
        })
    }
}
