//! A model that speaks as fast as the user's text says, so that a bench chooses how much is
//! streamed.

use std::time::Duration;

use madang::{
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError, ModelInfo,
        Usage,
    },
    tool::BoxFuture,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Answers `speak TOKENS BYTES MILLIS` with so many pieces of so many bytes, so far apart; any
/// other text with a word.
#[derive(Debug)]
pub(crate) struct Speaker;

impl Speaker {
    /// Writes the text that is answered in this way.
    pub(crate) fn speech(tokens: u32, bytes: usize, apart: Duration) -> String {
        format!("speak {tokens} {bytes} {}", apart.as_millis())
    }

    async fn say(text: &str, deltas: &Deltas) -> Option<String> {
        let mut words = text.strip_prefix("speak ")?.split(' ').map(str::parse::<u64>);
        let mut next = || words.next()?.ok();
        let tokens = next()?;
        let bytes = next()?;
        let millis = next()?;
        let piece = format!("{:1$}", "la", usize::try_from(bytes).ok()?);
        let begin = Instant::now();
        let mut said = String::new();
        for number in 1..=tokens {
            deltas.text(&piece);
            said.push_str(&piece);
            sleep_until(begin + Duration::from_millis(number * millis)).await;
        }
        Some(said)
    }
}

impl ChatModel for Speaker {
    fn info(&self) -> ModelInfo {
        let max_concurrent = usize::MAX;
        ModelInfo { name: "speaker".into(), has_parallel_calls: false, max_concurrent }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            let said =
                cancel.run_until_cancelled(Self::say(request.last_user_text(), &deltas)).await;
            let said = said.ok_or_else(|| ModelError::Cancelled { usage: Usage::default() })?;
            Ok(Completion {
                text: said.unwrap_or_else(|| "Hello.".to_owned()),
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: Usage::default(),
                left_out: 0,
            })
        })
    }
}
