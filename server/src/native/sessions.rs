//! Opens, lists, shows and clears sessions, with the approvals and the ledger that belong to one.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse as _, Response},
};
use madang::{
    CallId, Timestamp, UserId,
    approval::{ApprovalRequest, Digest, StandingApproval},
    event::{ChatMessage, FeedCursor},
    ledger::{Audited, LedgerFilter, LedgerRow},
    session::ViewPage,
    store::{SessionCursor, SessionPage, SessionSummary},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    ledger::{self, LedgerPage},
    paths,
};
use crate::{
    answer::json,
    auth::{caller::Caller, caller::session_id, scope::TokenScope},
    extract::{Ids, Json, OwnSession, Query, bad_value},
    forms::{CallPlace, EntryNumber, LedgerHead, PageSize, SessionName, SessionPlace},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    let decide = Access::Scope(TokenScope::Decide);
    vec![
        Route::post("/v1/sessions", chat, open).id("openSession")
            .begins()
            .says("Opens a session, or returns the user's existing one with this id.")
            .takes::<OpenBody>(|| serde_json::json!({ "id": "chat-1" }))
            .gives::<OpenedSession>(StatusCode::CREATED, "The session was opened.")
            .gives::<OpenedSession>(StatusCode::OK, "The user already had the session."),
        Route::get("/v1/sessions", chat, list).id("listSessions")
            .says("Lists the user's chats, newest first.")
            .query::<SessionPlace>("before", "The `next` value of the previous page.")
            .query::<PageSize>("limit", "The maximum number of entries, 1 to 100.")
            .gives::<SessionList>(StatusCode::OK, "A page of the list.")
            .refuses(&[ProblemName::UnknownValue]),
        Route::get("/v1/sessions/{session}", chat, view).id("getSession")
            .says("Returns the view of a chat with its last messages. A stream that starts after its cursor misses nothing.")
            .query::<EntryNumber>("before", "The `earlier` value of another page, to get the messages before it.")
            .gives::<SessionAnswer>(StatusCode::OK, "The view."),
        Route::post("/v1/sessions/{session}/clear", chat, clear).id("clearSession")
            .begins()
            .says("Clears the chat. Stored messages and the ledger are kept.")
            .gives_nothing(StatusCode::NO_CONTENT, "The chat is cleared.")
            .refuses(&[ProblemName::Busy]),
        Route::get("/v1/sessions/{session}/standing-approvals", chat, standing).id("listStandingApprovals")
            .says("Lists the standing approvals of this chat.")
            .query::<CallPlace>("after", "The `next` value of the previous page.")
            .query::<PageSize>("limit", "The maximum number of entries, 1 to 100.")
            .gives::<StandingApprovals>(StatusCode::OK, "A page of the standing approvals.")
            .refuses(&[ProblemName::UnknownValue]),
        Route::delete("/v1/sessions/{session}/standing-approvals/{tool}", decide, revoke).id("revokeStandingApprovals")
            .says("Ends the standing approvals of a tool in this chat.")
            .gives_nothing(StatusCode::NO_CONTENT, "The standing approvals have ended."),
        Route::get("/v1/sessions/{session}/unresolved", chat, unresolved).id("listUnresolvedCalls")
            .says("Lists the calls of this chat whose effect is unknown.")
            .query::<CallPlace>("after", "The `next` value of the previous page.")
            .query::<PageSize>("limit", "The maximum number of entries, 1 to 100.")
            .gives::<LedgerPage>(StatusCode::OK, "A page of the calls.")
            .refuses(&[ProblemName::UnknownValue]),
        Route::get("/v1/sessions/{session}/ledger/verify", chat, verify).id("verifyLedger")
            .says("Verifies the ledger of this chat.")
            .query::<LedgerHead>("head", "The head that an earlier check returned and the client kept.")
            .gives::<Verified>(StatusCode::OK, "No fault was found.")
            .refuses(&[ProblemName::LedgerBroken]),
    ]
}

/// A session to open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenBody {
    /// The id. If absent, a random one, which others cannot guess.
    #[schemars(with = "Option<SessionName>")]
    id: Option<String>,
}

/// A session that was opened.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenedSession {
    session: String,
    user: UserId,
    /// The time of the opening, if this request opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened_at: Option<Timestamp>,
}

async fn open(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Json(OpenBody { id }): Json<OpenBody>,
) -> Result<Response, Problem> {
    let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
    let session = session_id(&id)?;
    let before = shared.runtime.user_with_id(&caller.user).find_session(&session).await?;
    let opened_at = before.is_none().then(|| shared.now());
    let opened = shared.open_session(&caller.user, &id).await?;
    let status = if opened_at.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    let location = [(LOCATION, paths::of_session(opened.id()))];
    let answer = OpenedSession { session: id, user: caller.user, opened_at };
    Ok((status, location, json(&answer)).into_response())
}

/// A page of a list of chats.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionList {
    sessions: Vec<SessionSummary>,
    /// The position of the next page; null for the last page.
    next: Option<String>,
}

async fn list(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    query: Query,
) -> Result<Response, Problem> {
    let limit = query.limit(shared.limits.max_page.min(SessionPage::MAX_SESSIONS))?;
    let before: Option<SessionCursor> = query.place("before")?;
    let expected = format!("It is a number from 1 to {}.", SessionPage::MAX_SESSIONS);
    let page = SessionPage::of(limit).map_err(|_| bad_value("limit", expected))?;
    let page = before.into_iter().fold(page, SessionPage::after);
    let sessions = shared.runtime.user_with_id(&caller.user).sessions(page).await?;
    let last = sessions.last().filter(|_| sessions.len() == limit);
    let next = last.map(|last| last.position().to_string());
    Ok(json(&SessionList { sessions, next }))
}

/// The view of a chat.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionAnswer {
    session: String,
    /// The cursor after which a stream continues.
    cursor: FeedCursor,
    /// The epoch of the feed in the cursor.
    epoch: Option<String>,
    messages: Vec<ChatMessage>,
    /// The value of `before` for the previous page; null if the chat begins with these messages.
    earlier: Option<u64>,
    is_streaming: bool,
    streaming_text: Option<String>,
    error: Option<String>,
    approval_request: Option<ApprovalRequest>,
    turn: Option<madang::TurnId>,
}

async fn view(
    State(shared): State<Arc<Shared>>,
    OwnSession(session): OwnSession,
    query: Query,
) -> Result<Response, Problem> {
    let view = session.view(page(&shared, &query)?).await?;
    Ok(json(&SessionAnswer {
        session: session.id().as_str().to_owned(),
        cursor: view.cursor,
        epoch: view.cursor.published.map(|(epoch, _)| epoch.to_string()),
        messages: view.messages,
        earlier: view.earlier,
        is_streaming: view.is_streaming,
        streaming_text: view.streaming_text,
        error: view.error,
        approval_request: view.approval_request,
        turn: view.turn,
    }))
}

/// Reads which page of a chat a query asks for.
///
/// # Errors
/// Returns a problem if `before` is not a number.
pub(crate) fn page(shared: &Shared, query: &Query) -> Result<ViewPage, Problem> {
    let before: Option<u64> =
        query.parse("before", "It is the `earlier` value of another page.")?;
    Ok(ViewPage::of(shared.limits.max_page_bytes).before(before))
}

async fn clear(OwnSession(session): OwnSession) -> Result<StatusCode, Problem> {
    session.clear().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The standing approvals of a chat.
#[derive(Debug, Serialize, JsonSchema)]
struct StandingApprovals {
    standing_approvals: Vec<StandingApproval>,
    /// The position of the next page; null for the last page.
    next: Option<CallId>,
}

async fn standing(
    State(shared): State<Arc<Shared>>,
    OwnSession(session): OwnSession,
    query: Query,
) -> Result<Response, Problem> {
    let filter = LedgerFilter::standing_approvals().in_session(session.id());
    let LedgerPage { calls, next } = ledger::page(&shared, filter, &query).await?;
    let standing_approvals = calls.iter().filter_map(LedgerRow::standing_approval).collect();
    Ok(json(&StandingApprovals { standing_approvals, next }))
}

async fn revoke(
    OwnSession(session): OwnSession,
    Ids((_, tool)): Ids<(String, String)>,
) -> Result<StatusCode, Problem> {
    session.revoke(&tool).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn unresolved(
    State(shared): State<Arc<Shared>>,
    OwnSession(session): OwnSession,
    query: Query,
) -> Result<Response, Problem> {
    let filter = LedgerFilter::unresolved().in_session(session.id());
    Ok(json(&ledger::page(&shared, filter, &query).await?))
}

/// The result of verifying a ledger.
#[derive(Debug, Serialize, JsonSchema)]
struct Verified {
    calls: usize,
    transitions: u64,
    /// The number of transitions before the head that the client kept, none of which was changed.
    vouched_for: u64,
    /// The head of the hash chain. If it is kept elsewhere, it proves later that nothing before it
    /// was changed.
    head: Digest,
}

async fn verify(
    State(shared): State<Arc<Shared>>,
    OwnSession(session): OwnSession,
    query: Query,
) -> Result<Response, Problem> {
    let head = query.get("head").map(|text| Digest::try_from(text.to_owned())).transpose();
    let head = head.map_err(|_| bad_value("head", "It has 64 hexadecimal digits."))?;
    let audit = shared.extras.audit.as_ref().ok_or_else(Problem::not_found)?;
    let found = audit(session.id().clone(), head).await?.ok_or_else(Problem::not_found)?;
    let Audited { end, calls, vouched_for } = found.map_err(|error| {
        Problem::new(ProblemName::LedgerBroken, format!("The ledger does not hold: {error}."))
    })?;
    Ok(json(&Verified { calls, transitions: end.length, vouched_for, head: end.head }))
}
