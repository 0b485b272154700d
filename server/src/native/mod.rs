//! The native routes: all that a chat, an approval and a call can do, as JSON and as streams of events.

mod approvals;
mod calls;
mod events;
mod health;
mod inbox;
mod ledger;
mod login;
mod mapper;
pub(crate) mod paths;
mod sessions;
mod turns;

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use serde::Serialize;

use crate::routes::Route;

/// Gives the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let routes = [
        sessions::routes(),
        events::routes(),
        turns::routes(),
        inbox::routes(),
        approvals::routes(),
        calls::routes(),
        ledger::routes(),
        login::routes(),
        health::routes(),
    ];
    routes.into_iter().flatten().collect()
}

/// Answers with a value as JSON, which no cache keeps.
pub(crate) fn json(value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("an answer of ours has text keys");
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
