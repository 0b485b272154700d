//! Converts between values and the texts, numbers and bytes of columns.

use madang_actors::{
    ledger::{Salt, Seal},
    port::StoreError,
    protocol::{
        CallId, Digest, InvalidLanguageTag, LanguageTag, Locale, ModelName, SessionId, Text,
        ToolOutcome, TurnId, UserId,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

/// A value in the database is not as the store writes it.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {what} from the database")]
struct Unreadable {
    what: &'static str,
    #[source]
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Writes a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("the vocabulary is plain data with string keys")
}

/// Reads a value from JSON.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|cause| unreadable("a JSON value", cause))
}

pub(crate) fn digest(bytes: &[u8]) -> Result<Digest, StoreError> {
    bytes.try_into().map(Digest::new).map_err(|cause| unreadable("a hash", cause))
}

/// Reads a number that is never negative.
pub(crate) fn number(value: i64, what: &'static str) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|cause| unreadable(what, cause))
}

pub(crate) fn turn(text: &str) -> Result<TurnId, StoreError> {
    uuid(text).map(TurnId::new)
}

pub(crate) fn call_id(text: &str) -> Result<CallId, StoreError> {
    uuid(text).map(CallId::new)
}

pub(crate) fn session(text: &str) -> Result<SessionId, StoreError> {
    SessionId::new(text).map_err(|cause| unreadable("a session", cause))
}

pub(crate) fn user(text: &str) -> Result<UserId, StoreError> {
    UserId::new(text).map_err(|cause| unreadable("a user", cause))
}

pub(crate) fn language(text: &str) -> Result<LanguageTag, StoreError> {
    text.parse().map_err(|cause: InvalidLanguageTag| unreadable("a language", cause))
}

pub(crate) fn seal(text: Option<&str>) -> Result<Option<Seal>, StoreError> {
    let seal = text.map(|text| Seal::try_from(text.to_owned())).transpose();
    seal.map_err(|cause| unreadable("a seal", cause))
}

pub(crate) fn model_name(text: &str) -> Result<ModelName, StoreError> {
    ModelName::new(text).map_err(|cause| unreadable("the name of a model", cause))
}

pub(crate) fn salt(bytes: &[u8]) -> Result<Salt, StoreError> {
    bytes.try_into().map(Salt::new).map_err(|cause| unreadable("a salt", cause))
}

/// Explains in two languages, since the reader's language is unknown here.
pub(crate) fn unreadable_outcome() -> ToolOutcome {
    let [ko, en] = [Locale::KO, Locale::EN].map(|locale| Text::Unreadable.in_locale(locale));
    ToolOutcome::error("unreadable", format!("{ko} {en}"))
}

pub(crate) fn from_name<T: DeserializeOwned>(name: &str) -> Result<T, StoreError> {
    serde_json::from_value(name.into()).map_err(|cause| unreadable("a name", cause))
}

pub(crate) fn uuid(text: &str) -> Result<Uuid, StoreError> {
    text.parse().map_err(|cause: uuid::Error| unreadable("an id", cause))
}

pub(crate) fn damaged(what: &'static str) -> StoreError {
    StoreError::unavailable(Unreadable { what, cause: None })
}

pub(crate) fn unreadable(
    what: &'static str,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::unavailable(Unreadable { what, cause: Some(cause.into()) })
}
