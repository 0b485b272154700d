//! Makes a model from an async function.

use std::{borrow::Cow, fmt};

use madang_actors::{
    port::{BoxFuture, ChatModel, Deltas, ModelError, ModelInfo},
    protocol::{Completion, CompletionRequest, Usage},
};
use tokio_util::sync::CancellationToken;

/// A model made by [`from_fn`].
pub struct FnModel<F> {
    info: ModelInfo,
    answer: F,
}

/// Makes a model from an async function that answers a request: a client of a remote model, or a
/// few lines for a test. Text pushed into [`Deltas`] is streamed; the returned [`Completion`] is
/// what is stored. The future is dropped when its completion is cancelled, as when a turn is
/// dismissed with [`OnDismiss::Stop`](crate::OnDismiss::Stop).
pub fn from_fn<F, Fut>(name: impl Into<Cow<'static, str>>, answer: F) -> FnModel<F>
where
    F: Fn(CompletionRequest, Deltas) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Completion, ModelError>> + Send + 'static,
{
    let info =
        ModelInfo { name: name.into(), has_parallel_calls: true, max_concurrent: usize::MAX };
    FnModel { info, answer }
}

impl<F> FnModel<F> {
    /// Sets how many completions run at once. The rest wait in a fair queue. By default none waits.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.info.max_concurrent = count;
        self
    }
}

impl<F> fmt::Debug for FnModel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnModel").field("info", &self.info).finish_non_exhaustive()
    }
}

impl<F, Fut> ChatModel for FnModel<F>
where
    F: Fn(CompletionRequest, Deltas) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Completion, ModelError>> + Send + 'static,
{
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let answer = (self.answer)(request, deltas);
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled { usage: Usage::default() }),
                completion = answer => completion,
            }
        })
    }
}
