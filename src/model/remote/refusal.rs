//! What a refused request means: try again as it is, otherwise, or not at all.

use std::time::Duration;

use madang_actors::port::ModelError;
use serde_json::Value;

use super::{answer::text, provider::Provider};

/// The meaning of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelRefusal {
    /// The provider has too much to do; it may say for how long.
    Overloaded { retry_after: Option<Duration> },
    /// The provider failed, and may not fail again.
    Failed { kind: String },
    /// The prompt is longer than the model reads.
    TooLong,
    /// The server does not know the newer name of the bound on tokens.
    UnknownBound,
    /// The provider does not take back what a model gave with its calls.
    BadSignature,
    /// The same again would be refused again.
    Final { kind: String },
}

impl ModelRefusal {
    /// Reads a response that is no stream. `message` is its body, as far as it was read.
    pub(super) fn of(
        provider: Provider,
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Self {
        let message = message(body);
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        match status {
            429 | 503 | 529 => Self::Overloaded { retry_after },
            401 | 403 => Self::Final { kind: ModelError::UNAUTHORIZED.to_owned() },
            413 => Self::TooLong,
            400 | 422 if has(&["max_completion_tokens"]) => Self::UnknownBound,
            400 | 422 if has(signature_words(provider)) => Self::BadSignature,
            400 | 422 if has(TOO_LONG) => Self::TooLong,
            500 | 502 | 504 => Self::Failed { kind: format!("Http{status}") },
            _ => Self::Final { kind: format!("Http{status}") },
        }
    }

    /// Reads the name of a failure in the middle of a stream.
    pub(super) fn in_stream(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "overloaded_error"
            | "rate_limit_error"
            | "rate_limit_exceeded"
            | "resource_exhausted"
            | "unavailable"
            | "server_overloaded" => Self::Overloaded { retry_after: None },
            "authentication_error" | "permission_error" | "invalid_api_key" => {
                Self::Final { kind: ModelError::UNAUTHORIZED.to_owned() }
            }
            "context_length_exceeded" => Self::TooLong,
            _ => Self::Failed { kind: "ProviderFailed".to_owned() },
        }
    }

    /// Gives the error where nothing else is tried.
    pub(super) fn into_error(self) -> ModelError {
        match self {
            Self::Overloaded { retry_after } => ModelError::Overloaded { retry_after },
            Self::TooLong => ModelError::failed(ModelError::PROMPT_TOO_LONG),
            Self::Failed { kind } | Self::Final { kind } => ModelError::failed(kind),
            Self::UnknownBound | Self::BadSignature => ModelError::failed("Http400"),
        }
    }
}

/// Lists words, in small letters, by which a provider says that it does not take back what its model signed.
const fn signature_words(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["signature", "thinking"],
        Provider::Gemini => &["thought_signature", "thought signature"],
        Provider::OpenAi | Provider::Ollama => &[],
    }
}

/// Words by which servers say that a prompt is too long, in small letters.
const TOO_LONG: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "prompt is too long",
    "too many tokens",
    "input token count",
    "maximum number of tokens",
];

/// Gives what a body says about an error, in small letters. Only words are looked for in it: it may repeat the prompt.
fn message(body: &[u8]) -> String {
    let whole = String::from_utf8_lossy(body);
    let said = serde_json::from_slice::<Value>(body).ok().and_then(|value| {
        let value = if let Value::Array(list) = value { list.into_iter().next()? } else { value };
        let [code, said, plain] = ["/error/code", "/error/message", "/error"];
        Some([text(&value, code), text(&value, said), text(&value, plain)].join(" "))
    });
    said.unwrap_or_else(|| whole.into_owned()).to_lowercase()
}
