//! Answers with JSON.

use axum::{
    http::header,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// Answers with a value as JSON, which no cache keeps.
pub(crate) fn json(value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("an answer of ours has text keys");
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, text).into_response()
}
