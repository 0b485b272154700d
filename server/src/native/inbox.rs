//! The open approval requests of a user, in all sessions.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::approval::{ApprovalRequest, InboxItem};
use schemars::JsonSchema;
use serde::Serialize;

use super::mapper::InboxMapper;
use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    problem::Problem,
    route::{Access, Route},
    state::Shared,
    stream::body::{Items, OpenStream},
};

pub(super) fn routes() -> Vec<Route> {
    let decide = Access::Scope(TokenScope::Decide);
    vec![
        Route::get("/v1/inbox", decide, inbox)
            .says("Lists the open approval requests of the user, in all sessions.")
            .gives::<OpenRequests>(StatusCode::OK, "The requests, the earliest to expire first."),
        Route::get("/v1/inbox/events", decide, events)
            .says("Streams the open approval requests of the user, and each change of them.")
            .gives_text("text/event-stream", "A snapshot, and then each change."),
    ]
}

/// The open approval requests of a user.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenRequests {
    approval_requests: Vec<Arc<ApprovalRequest>>,
}

async fn inbox(State(shared): State<Arc<Shared>>, caller: Caller) -> Result<Response, Problem> {
    let mut inbox = shared.runtime.inbox(&caller.user).await?;
    match inbox.next().await {
        Some(InboxItem::Snapshot { requests }) => {
            Ok(json(&OpenRequests { approval_requests: requests }))
        }
        Some(_) | None => Err(Problem::draining()), // the first item is a snapshot while the runtime lives
    }
}

async fn events(State(shared): State<Arc<Shared>>, caller: Caller) -> Result<Response, Problem> {
    let stream = OpenStream::new(&shared, &caller, "inbox")?;
    let inbox = shared.runtime.inbox(&caller.user).await?;
    Ok(stream.of(Items::Inbox(Box::new(inbox)), InboxMapper::default()))
}
