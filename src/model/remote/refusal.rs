//! Decides what a refusal means, whether it is a response of its own or a part of a stream: try
//! again unchanged, try otherwise, or give up.

use std::{borrow::Cow, time::Duration};

use madang_actors::port::ModelError;
use serde_json::Value;

use super::{
    json::text,
    quirks::{Quirk, Quirks},
    words::Words,
};

/// A refusal.
#[derive(Debug)]
pub(super) struct ModelRefusal {
    pub(super) meaning: Meaning,
    /// The kind of error if nothing else is tried.
    kind: Cow<'static, str>,
    words: Words,
}

/// The meaning of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The provider is overloaded; it may state for how long.
    Overloaded { retry_after: Option<Duration> },
    /// The provider failed, and may succeed next time.
    Failed,
    /// The prompt is longer than the model reads.
    TooLong,
    /// The server wants the request written otherwise.
    Wants(Quirks),
    /// The provider refuses what a model wanted back with its calls.
    BadSignature,
    /// The same request would be refused again.
    Final,
}

/// The kind of a failure in a stream that has no number.
const PROVIDER_FAILED: &str = "ProviderFailed";

impl ModelRefusal {
    /// Reads a response that is not an answer. `body` is as much of it as was read.
    pub(super) fn of(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let named = || pause_in(&serde_json::from_slice(body).ok()?);
        Self::new(Some(status), retry_after.or_else(named), Words::of(body))
    }

    /// Reads a frame of a stream that is an error.
    pub(super) fn in_frame(frame: &Value) -> Self {
        let number = |at: &str| {
            let value = frame.pointer(at)?;
            let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
            number.and_then(|number| u16::try_from(number).ok()).filter(|number| *number >= 400)
        };
        let places =
            ["/error/code", "/error/status", "/error/status_code", "/status_code", "/code"];
        let status = places.into_iter().find_map(number);
        let names = ["/error/code", "/error/type", "/error/status", "/error_type", "/type"];
        let status = status.or_else(|| names.into_iter().find_map(|at| named(text(frame, at))));
        Self::new(status, pause_in(frame), Words::of_json(frame))
    }

    /// Reads an error in a stream that is a text.
    pub(super) fn in_text(text: &[u8]) -> Self {
        Self::new(None, None, Words::of(text))
    }

    fn new(status: Option<u16>, retry_after: Option<Duration>, words: Words) -> Self {
        let wants = wanted(&words);
        let is_wrong = matches!(status, Some(400 | 404 | 422));
        let (meaning, kind) = match status {
            // Trying again helps only after somebody pays.
            Some(429) if words.have(&["insufficient_quota"]) => {
                (Meaning::Final, ModelError::OVERLOADED)
            }
            Some(429 | 498 | 503 | 529) => {
                (Meaning::Overloaded { retry_after }, ModelError::OVERLOADED)
            }
            Some(403) if words.have(FILTERED) => (Meaning::Final, ModelError::REFUSED),
            Some(401 | 403) => (Meaning::Final, ModelError::UNAUTHORIZED),
            Some(413) => (Meaning::TooLong, ModelError::PROMPT_TOO_LONG),
            // Before all that a request may be changed in: its words name the bound on tokens, too.
            Some(400 | 422 | 500) | None if words.have(TOO_LONG) => {
                (Meaning::TooLong, ModelError::PROMPT_TOO_LONG)
            }
            _ if is_wrong && wants != Quirks::default() => (Meaning::Wants(wants), ""),
            _ if is_wrong && words.have(SIGNATURE) => (Meaning::BadSignature, ""),
            _ if is_wrong && words.have(BAD_KEY) => (Meaning::Final, ModelError::UNAUTHORIZED),
            _ if is_wrong && words.have(FILTERED) => (Meaning::Final, ModelError::REFUSED),
            _ if is_wrong && words.have(BUSY) => {
                (Meaning::Overloaded { retry_after }, ModelError::OVERLOADED)
            }
            // The model wrote a call that the server could not read: it may write another.
            _ if is_wrong && words.have(&["tool_use_failed"]) => (Meaning::Failed, ""),
            Some(408 | 409 | 500 | 502 | 504 | 520..=527) => (Meaning::Failed, ""),
            None => (Meaning::Failed, PROVIDER_FAILED),
            Some(_) => (Meaning::Final, ""),
        };
        let kind = match status {
            Some(status) if kind.is_empty() => format!("Http{status}").into(),
            Some(_) | None => kind.into(),
        };
        Self { meaning, kind, words }
    }

    /// Returns the error if nothing else is tried.
    pub(super) fn into_error(self, key: Option<&str>) -> ModelError {
        if let Meaning::Overloaded { retry_after: retry_after @ Some(_) } = self.meaning {
            return ModelError::Overloaded { retry_after };
        }
        ModelError::failed(self.kind).with_words(self.words.said(key))
    }

    /// Returns the error if the model had begun to speak.
    pub(super) fn behind_words(self, key: Option<&str>) -> ModelError {
        match self.meaning {
            Meaning::Overloaded { .. } | Meaning::Failed => {
                let lost = ModelError::failed(ModelError::CONNECTION_LOST);
                lost.with_words(self.words.said(key))
            }
            Meaning::TooLong | Meaning::Wants(_) | Meaning::BadSignature | Meaning::Final => {
                self.into_error(key)
            }
        }
    }
}

/// Reads the pause that Google names in an error, which may be in a list.
fn pause_in(error: &Value) -> Option<Duration> {
    let details = error.pointer("/error/details").or_else(|| error.pointer("/0/error/details"))?;
    let is_pause = |detail: &&Value| text(detail, "/@type").ends_with("google.rpc.RetryInfo");
    let pause = text(details.as_array()?.iter().find(is_pause)?, "/retryDelay");
    Duration::try_from_secs_f64(pause.strip_suffix('s')?.parse().ok()?).ok()
}

/// Returns the status that a name in a stream means.
fn named(name: &str) -> Option<u16> {
    match name.to_ascii_lowercase().as_str() {
        "overloaded_error"
        | "overloaded"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "resource_exhausted"
        | "unavailable"
        | "server_overloaded" => Some(503),
        "authentication_error" | "permission_error" | "invalid_api_key" => Some(401),
        "invalid_request_error"
        | "badrequesterror"
        | "context_length_exceeded"
        | "invalid_argument" => Some(400),
        _ => None,
    }
}

/// Finds what the server wants otherwise.
fn wanted(words: &Words) -> Quirks {
    let unknown = words.have(NOT_KNOWN);
    let missing = words.have(&["must be passed back", "is missing"]);
    let thoughts = words.have(&["reasoning_content"]);
    [
        (Quirk::OldBound, unknown && words.have(&["max_completion_tokens"])),
        (Quirk::NoStreamOptions, unknown && words.have(&["stream_options"])),
        (Quirk::EmptyThoughts, missing && thoughts),
        (Quirk::EmptySignatures, missing && words.have(&["thought_signature"])),
    ]
    .into_iter()
    .filter_map(|(quirk, is_wanted)| is_wanted.then_some(quirk))
    .collect()
}

// All words are in small letters.

/// Words by which servers say that they do not know a member.
const NOT_KNOWN: &[&str] = &[
    "unrecognized",
    "unsupported",
    "not supported",
    "does not support",
    "extra inputs",
    "extra_forbidden",
    "additional properties",
    "unknown",
    "unexpected",
    "not a valid field",
    "not allowed",
    "not permitted",
];

/// Words by which a provider says that it does not accept what its model wanted back with a call.
const SIGNATURE: &[&str] = &[
    "signature",
    "thinking",
    "reasoning_content",
    "reasoning_details",
    "property 'reasoning'",
    "extra_content",
];

const BAD_KEY: &[&str] =
    &["api key not valid", "incorrect api key", "invalid api key", "api_key_invalid"];

const FILTERED: &[&str] = &["content_filter", "content_policy", "was flagged", "high risk"];

const BUSY: &[&str] = &["throttlingexception", "too many requests"];

/// Words by which servers say that a prompt is too long.
const TOO_LONG: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "prompt is too long",
    "prompt exceeds max length",
    "maximum prompt length",
    "input is too long",
    "input_too_large",
    "too many tokens",
    "too many total text bytes",
    "input token count",
    "maximum number of tokens",
    "exceeded model token limit",
    "`max_new_tokens` must be <=",
    "`inputs` must have less than",
    "reduce the length of the messages",
];
