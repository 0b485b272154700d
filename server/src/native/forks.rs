//! Forks chats: a new one with the texts before a turn, for a person who edits an earlier message
//! or wants another answer to it.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse as _, Response},
};
use madang::{IdempotencyKey, SessionId, TurnId, UserId, approval::Digest, session::Fork};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::paths;
use crate::{
    answer::json,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Json, OwnSession, Wishes},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/sessions/{session}/forks", Access::Scope(TokenScope::Chat), fork)
            .id("forkSession")
            .begins()
            .says(
                "Begins a new chat with the texts before a turn of this one, or with all of them.",
            )
            .header("Idempotency-Key", "Makes the request safe to repeat.")
            .takes::<ForkBody>(
                || serde_json::json!({ "before": "0198c5a0-0000-7000-8000-000000000000" }),
            )
            .gives::<ForkedSession>(StatusCode::CREATED, "The fork was made.")
            .gives::<ForkedSession>(StatusCode::OK, "The fork was made before under the same key.")
            .refuses(&[ProblemName::Busy]),
    ]
}

/// Where a fork begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// The turn whose text and all later ones are left out. If absent, all texts are copied.
    before: Option<TurnId>,
    /// The id of the new session. If absent, one is made.
    id: Option<String>,
}

/// A fork.
#[derive(Debug, Serialize, JsonSchema)]
struct ForkedSession {
    session: String,
    user: UserId,
    /// The chat that was forked.
    from: String,
    /// The turn before which it was forked.
    before: Option<TurnId>,
    /// The number of texts that it begins with. A notice that it is a fork follows them.
    messages: usize,
    /// The number of calls among them, which were not copied. What they did stays done, and their
    /// records stay in the chat that was forked.
    calls: usize,
    /// Whether earlier texts were left out, because there are too many.
    is_cut: bool,
}

async fn fork(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    OwnSession(session): OwnSession,
    wishes: Wishes,
    Json(ForkBody { before, id }): Json<ForkBody>,
) -> Result<Response, Problem> {
    let (id, may_be_there) = match (id, wishes.key) {
        (Some(id), _) => (session_id(&id)?, false),
        (None, Some(key)) => (id_under(session.id(), before, &key), true),
        (None, None) => (session_id(&Uuid::new_v4().to_string())?, false),
    };
    shared.may_open(&caller.user, &id).await?;
    let forked = session.fork(before, id.as_str()).await?;
    let Fork { session: fork, is_new, messages, calls, is_cut } = forked;
    let status = match (is_new, may_be_there) {
        (true, _) => StatusCode::CREATED,
        (false, true) => StatusCode::OK,
        (false, false) => {
            let detail = "The new chat has begun already. Choose another id.";
            return Err(Problem::new(ProblemName::Busy, detail).not_again().at("/id", detail));
        }
    };
    let answer = ForkedSession {
        session: fork.id().as_str().to_owned(),
        user: caller.user,
        from: session.id().as_str().to_owned(),
        before,
        messages,
        calls,
        is_cut,
    };
    let location = [(LOCATION, paths::of_session(fork.id()))];
    Ok((status, location, json(&answer)).into_response())
}

/// Returns the id of a fork that is made under a key. The same request gets the same id.
fn id_under(from: &SessionId, before: Option<TurnId>, key: &IdempotencyKey) -> SessionId {
    let before = before.map_or_else(String::new, |turn| turn.to_string());
    let mut hash = Sha256::new().chain_update("fork of\0");
    for part in [from.as_str(), &before, key.as_str()] {
        hash = hash.chain_update((part.len() as u64).to_be_bytes()).chain_update(part);
    }
    SessionId::new(Digest::new(hash.finalize().into()).to_string()).expect("a digest is short")
}
