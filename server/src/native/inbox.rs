//! Lists and streams the open approval requests of a user, in all sessions.

use std::{fmt, str::FromStr, sync::Arc};

use axum::{extract::State, http::StatusCode, response::Response};
use madang::{
    CallId, Timestamp,
    approval::{ApprovalRequest, InboxItem},
};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::mapper::InboxMapper;
use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    extract::Query,
    forms::RequestPlace,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    stream::{
        body::{Items, OpenStream},
        pieces::fitting,
    },
};

pub(super) fn routes() -> Vec<Route> {
    let decide = Access::Scope(TokenScope::Decide);
    vec![
        Route::get("/v1/inbox", decide, inbox)
            .id("listApprovalRequests")
            .says("Lists the open approval requests of the user, in all sessions.")
            .query::<RequestPlace>("after", "The `next` value of the previous page.")
            .gives::<OpenRequests>(
                StatusCode::OK,
                "A page of the requests, those that expire first at the front.",
            )
            .refuses(&[ProblemName::UnknownValue]),
        Route::get("/v1/inbox/events", decide, events)
            .id("streamInboxEvents")
            .says("Streams the open approval requests of the user and every change to them.")
            .gives_text("text/event-stream", "A snapshot, and then each change."),
    ]
}

/// The open approval requests of a user.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenRequests {
    approval_requests: Vec<Arc<ApprovalRequest>>,
    /// The position of the next page; null for the last page.
    next: Option<String>,
}

/// The place of a request in the list, `EXPIRES.CALL`, even if it is no longer open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct InboxPlace(Timestamp, CallId);

impl InboxPlace {
    fn of(request: &ApprovalRequest) -> Self {
        Self(request.expires_at, request.call)
    }
}

impl fmt::Display for InboxPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.millis(), self.1)
    }
}

impl FromStr for InboxPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (expires, call) = text.split_once('.').ok_or(())?;
        let call: Uuid = call.parse().map_err(drop)?;
        Ok(Self(Timestamp::from_millis(expires.parse().map_err(drop)?), CallId::new(call)))
    }
}

async fn inbox(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    query: Query,
) -> Result<Response, Problem> {
    let after: Option<InboxPlace> = query.place("after")?;
    let mut inbox = shared.runtime.user_with_id(&caller.user).inbox().await?;
    match inbox.next().await {
        Some(InboxItem::Snapshot { requests }) => Ok(json(&page(&shared, requests, after))),
        Some(_) | None => Err(Problem::draining()), // the first item is a snapshot while the runtime lives
    }
}

/// Returns the requests after a place, as many as one answer may have.
fn page(
    shared: &Shared,
    mut requests: Vec<Arc<ApprovalRequest>>,
    after: Option<InboxPlace>,
) -> OpenRequests {
    requests.retain(|request| after < Some(InboxPlace::of(request)));
    let fits = fitting(&requests, shared.limits.max_page_bytes).min(shared.limits.max_page);
    let has_more = fits < requests.len();
    requests.truncate(fits);
    let next = requests.last().filter(|_| has_more).map(|last| InboxPlace::of(last).to_string());
    OpenRequests { approval_requests: requests, next }
}

async fn events(State(shared): State<Arc<Shared>>, caller: Caller) -> Result<Response, Problem> {
    let stream = OpenStream::new(&shared, &caller, "inbox")?;
    let inbox = shared.runtime.user_with_id(&caller.user).inbox().await?;
    Ok(stream.write(Items::Inbox(Box::new(inbox)), InboxMapper::default()))
}
