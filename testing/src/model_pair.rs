//! A model that the test drives by hand, so that it can choose each interleaving of streaming,
//! cancelling and ending.

use std::{borrow::Cow, time::Duration};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use madang_actors::{
    port::{BoxFuture, ChatModel, Deltas, ModelError, ModelInfo},
    protocol::{Completion, CompletionDelta, CompletionRequest, Usage},
};

/// How long a test waits for a request to the model.
const PATIENCE: Duration = Duration::from_secs(60);

/// Creates a model, and the hand that drives it.
///
/// ```
/// # use madang_testing::model_pair;
/// let (model, mut script) = model_pair();
/// // let completion = script.next().await; completion.delta("Hel"); completion.finish(..);
/// # drop((model, &mut script));
/// ```
#[must_use]
pub fn model_pair() -> (HandDrivenModel, HandScript) {
    let (asked, asking) = mpsc::unbounded_channel();
    let info =
        ModelInfo { name: "by hand".into(), has_parallel_calls: true, max_concurrent: usize::MAX };
    (HandDrivenModel { info, asked }, HandScript { asking })
}

/// A model that follows its [`HandScript`].
#[derive(Debug, Clone)]
pub struct HandDrivenModel {
    info: ModelInfo,
    asked: mpsc::UnboundedSender<HandCompletion>,
}

impl HandDrivenModel {
    /// Sets how many completions run at once. Others wait.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.info.max_concurrent = count;
        self
    }
}

impl ChatModel for HandDrivenModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let (end, ended) = oneshot::channel();
        let completion = HandCompletion { request, deltas, cancel: cancel.clone(), end };
        Box::pin(async move {
            if self.asked.send(completion).is_err() {
                return Err(ModelError::failed(ModelError::ENGINE_DIED));
            }
            tokio::select! {
                // An end that is ready counts, even if the completion is cancelled at the same
                // moment.
                biased;
                end = ended => match end {
                    Ok(End::Completed(result)) => result,
                    Ok(End::Panicked(text)) => panic!("{text}"),
                    Err(_) => Err(ModelError::failed(ModelError::ENGINE_DIED)),
                },
                () = cancel.cancelled() => Err(ModelError::Cancelled { usage: Usage::default() }),
            }
        })
    }
}

/// Drives a [`HandDrivenModel`]. If it is dropped, the model fails with `EngineDied`.
#[derive(Debug)]
pub struct HandScript {
    asking: mpsc::UnboundedReceiver<HandCompletion>,
}

impl HandScript {
    /// Waits for a request to the model and returns its completion.
    ///
    /// # Panics
    /// Panics if no request comes within a minute.
    pub async fn next(&mut self) -> HandCompletion {
        let asked = tokio::time::timeout(PATIENCE, self.asking.recv()).await;
        asked.ok().flatten().expect("a completion is asked for")
    }

    /// Returns the completion of a request that has already come, or `None` if none has.
    pub fn try_next(&mut self) -> Option<HandCompletion> {
        self.asking.try_recv().ok()
    }
}

/// A completion that waits for its end. If it is dropped, the completion fails with `EngineDied`.
#[derive(Debug)]
#[must_use = "dropped, the completion fails"]
pub struct HandCompletion {
    request: CompletionRequest,
    deltas: Deltas,
    cancel: CancellationToken,
    end: oneshot::Sender<End>,
}

#[derive(Debug)]
enum End {
    Completed(Result<Completion, ModelError>),
    Panicked(String),
}

impl HandCompletion {
    /// Returns the request to the model.
    #[must_use]
    pub const fn request(&self) -> &CompletionRequest {
        &self.request
    }

    /// Streams a piece of text, even after a cancellation, as a slow model would.
    pub fn delta(&self, text: &str) {
        self.deltas.text(text);
    }

    /// Streams a piece of thinking.
    pub fn think(&self, text: &str) {
        self.deltas.push(CompletionDelta::Thinking(text));
    }

    /// Returns the stream, which works even after the end of the completion.
    #[must_use]
    pub fn deltas(&self) -> Deltas {
        self.deltas.clone()
    }

    /// Waits until the completion is cancelled or its future is dropped.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Returns whether the completion was cancelled or its future was dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Ends the completion with success.
    pub fn finish(self, completion: Completion) {
        self.end(End::Completed(Ok(completion)));
    }

    /// Ends the completion with this text.
    pub fn say(self, text: &str) {
        self.finish(Completion { text: text.to_owned(), ..Completion::default() });
    }

    /// Fails the completion with this kind of error.
    pub fn fail(self, kind: impl Into<Cow<'static, str>>) {
        self.end(End::Completed(Err(ModelError::failed(kind))));
    }

    /// Makes the model panic.
    pub fn panic(self, text: &str) {
        self.end(End::Panicked(text.to_owned()));
    }

    fn end(self, end: End) {
        let _ = self.end.send(end); // a cancelled completion has no caller left that receives it
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use madang_actors::protocol::{CompletionId, LanguageTag, SessionId, UserId};
    use uuid::Uuid;

    fn asked(
        model: &HandDrivenModel,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> tokio::task::JoinHandle<Result<Completion, ModelError>> {
        let model = model.clone();
        let request = CompletionRequest {
            id: CompletionId::new(Uuid::nil()),
            session: SessionId::new("one").unwrap(),
            user: UserId::new("me").unwrap(),
            system: None,
            instructions: None,
            messages: Default::default(),
            tools: Arc::new([]),
            language: LanguageTag::EN,
            max_tokens: 16,
        };
        tokio::spawn(async move { model.complete(request, deltas, cancel).await })
    }

    #[tokio::test(start_paused = true)]
    async fn the_hand_chooses_each_step() {
        let (model, mut script) = model_pair();
        let (heard, mut hear) = mpsc::unbounded_channel();
        let deltas = Deltas::new(move |delta| drop(heard.send(format!("{delta:?}"))));
        let first = asked(&model, deltas, CancellationToken::new());
        let completion = script.next().await;
        assert_eq!(completion.request().session.as_str(), "one");
        completion.delta("Hel");
        assert_eq!(hear.recv().await.unwrap(), r#"Text("Hel")"#);
        assert!(!first.is_finished());
        completion.say("Hello");
        assert_eq!(first.await.unwrap().unwrap().text, "Hello");

        let failed = asked(&model, Deltas::ignored(), CancellationToken::new());
        script.next().await.fail("Odd");
        assert_eq!(failed.await.unwrap().unwrap_err().to_string(), "the model failed: Odd");

        let dropped = asked(&model, Deltas::ignored(), CancellationToken::new());
        let _ = script.next().await;
        assert_eq!(dropped.await.unwrap().unwrap_err().to_string(), "the model failed: EngineDied");

        let panicked = asked(&model, Deltas::ignored(), CancellationToken::new());
        script.next().await.panic("boom");
        assert!(panicked.await.unwrap_err().is_panic());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_completion_ends_and_its_late_deltas_can_still_be_sent() {
        let (model, mut script) = model_pair();
        let cancel = CancellationToken::new();
        let (heard, mut hear) = mpsc::unbounded_channel();
        let deltas = Deltas::new(move |delta| drop(heard.send(format!("{delta:?}"))));
        let ending = asked(&model, deltas, cancel.clone());
        let completion = script.next().await;
        cancel.cancel();
        completion.cancelled().await;
        assert!(matches!(ending.await.unwrap(), Err(ModelError::Cancelled { .. })));
        completion.delta("late");
        assert_eq!(hear.recv().await.unwrap(), r#"Text("late")"#);
        completion.say("too late");
    }
}
