//! Answers with JSON.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use serde::Serialize;

/// Answers with a value as JSON, which no cache keeps.
pub(crate) fn json(value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("an answer of ours has text keys");
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
