//! Answers with JSON, and holds room for answers until their readers have taken them.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody as _, to_bytes},
    http::{Method, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use madang::UserId;
use serde::Serialize;
use tokio::time::timeout;

use crate::{problem::Problem, state::Shared, stream::outlet::SMALL};

/// Answers with a value as JSON, which no cache keeps.
pub(crate) fn json(value: &impl Serialize) -> Response {
    json_text(serde_json::to_vec(value).expect("an answer of ours has text keys").into())
}

/// Answers with JSON that is already serialized, which no cache keeps.
pub(crate) fn json_text(text: Bytes) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from(text)).into_response()
}

/// Counts an answer among the bytes on their way to its user, until they are sent. Streams count
/// their pieces themselves. If there is no room, only an answer to a request that changes nothing
/// is refused.
pub(crate) async fn held(
    shared: &Arc<Shared>,
    user: &UserId,
    method: &Method,
    answer: Response,
) -> Response {
    let Some(bytes) = answer.body().size_hint().exact().map(|bytes| bytes as usize) else {
        return answer;
    };
    if bytes <= SMALL {
        return answer;
    }
    let permit = if *method == Method::GET {
        match shared.outgoing.try_take(user, bytes) {
            Ok(permit) => Some(permit),
            Err(full) => {
                let detail =
                    "Too many bytes of answers are on their way. Read or close what is open first.";
                return full.problem("outgoing_bytes", detail).into_response();
            }
        }
    } else {
        // As long as readers that take nothing may stay.
        timeout(shared.limits.stall_timeout, shared.outgoing.take(user, bytes)).await.ok()
    };
    let Some(permit) = permit else { return answer };
    let (head, body) = answer.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(whole) => Response::from_parts(head, Body::from(permit.hold(whole))),
        Err(_) => Problem::draining().into_response(),
    }
}
