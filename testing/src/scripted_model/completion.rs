//! One completion of a script: its text, its calls and its duration.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionDelta, FinishReason, Usage, WantedCall},
};

/// The number of pieces in which a text is streamed, if it has as many characters.
const DELTAS: usize = 4;

/// One completion of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptedCompletion {
    pub(super) thinking: Arc<str>,
    pub(super) text: Arc<str>,
    pub(super) calls: Vec<WantedCall>,
    pub(super) error: Option<Arc<str>>,
    pub(super) delay: Duration,
    pub(super) usage: Usage,
}

impl ScriptedCompletion {
    /// Creates a completion that says a text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a completion that asks for a tool. Arguments that are a string are the raw text that
    /// the model wrote.
    #[must_use]
    pub fn call(name: impl Into<Arc<str>>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// Creates a completion that fails with this kind of error, after its text.
    #[must_use]
    pub fn error(kind: impl Into<Arc<str>>) -> Self {
        Self { error: Some(kind.into()), ..Self::default() }
    }

    /// Adds one more call of a tool.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<Arc<str>>, arguments: &Value) -> Self {
        self.calls.push(WantedCall::new(name, raw(arguments)));
        self
    }

    /// Adds a text that the model says before the calls or the failure.
    #[must_use]
    pub fn saying(mut self, text: impl Into<Arc<str>>) -> Self {
        self.text = text.into();
        self
    }

    /// Adds what the model thinks before the text.
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<Arc<str>>) -> Self {
        self.thinking = thinking.into();
        self
    }

    /// Sets how long it takes. The time is spread over the text, which begins at once.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(super) async fn say(self, deltas: &Deltas) -> Result<Completion, ModelError> {
        for piece in pieces(&self.thinking) {
            deltas.push(CompletionDelta::Thinking(&piece));
        }
        let pieces = pieces(&self.text);
        let pause = self.delay / u32::try_from(pieces.len().max(1)).unwrap_or(1);
        for piece in &pieces {
            deltas.text(piece);
            wait(pause).await;
        }
        if pieces.is_empty() {
            wait(pause).await;
        }
        match self.error {
            Some(kind) => Err(ModelError::failed(kind.to_string())),
            None => Ok(self.completion()),
        }
    }

    fn completion(self) -> Completion {
        let finish =
            if self.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        Completion {
            text: self.text.to_string(),
            tool_calls: self.calls,
            finish,
            usage: self.usage,
            left_out: 0,
        }
    }
}

/// Returns the arguments as the model wrote them.
pub(super) fn raw(arguments: &Value) -> Arc<str> {
    arguments.as_str().map_or_else(|| arguments.to_string().into(), Into::into)
}

async fn wait(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// Splits a text into a few pieces between characters.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(DELTAS).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
