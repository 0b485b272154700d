//! Forks chats: a new one with the texts before a message, for a person who edits that message or
//! wants another answer to it.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse as _, Response},
};
use madang::{
    SessionId, UserId,
    event::{Content, Notice},
    session::Fork,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::paths;
use crate::{
    answer::json,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Ids, Json, Wishes, whole_number},
    fork_id::fork_id,
    forms::{EntryNumber, KeyHeader, SessionName},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    surface::takeover,
    turns::{Supersede, must_rest},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/sessions/{session}/forks", Access::Scope(TokenScope::Chat), fork)
            .id("forkSession")
            .begins()
            .says(
                "Begins a new chat with the texts before a message of this one, or with all of them.",
            )
            .header::<KeyHeader>("Idempotency-Key", "Makes the request safe to repeat.")
            .takes::<ForkBody>(|| serde_json::json!({ "before": 3 }))
            .gives::<ForkedSession>(StatusCode::CREATED, "The fork was made.")
            .gives::<ForkedSession>(StatusCode::OK, "The fork was made before under the same key.")
            .refuses(&[ProblemName::Busy]),
    ]
}

/// Where a fork begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// The `seq` of the message that is left out with all later ones. If absent, all texts are
    /// copied.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(with = "Option<EntryNumber>")]
    before: Option<u64>,
    /// The id of the new session. If absent, one is made. Under a key, a fork of this id counts as
    /// the one that the request asks for.
    #[schemars(with = "Option<SessionName>")]
    id: Option<String>,
}

/// A fork. Only the request that made it is told what was copied.
#[derive(Debug, Serialize, JsonSchema)]
struct ForkedSession {
    session: String,
    user: UserId,
    /// The chat that was forked.
    from: String,
    /// The `seq` of the message before which it was forked.
    before: Option<u64>,
    /// What was copied. Absent if the fork was made before.
    #[serde(flatten)]
    copied: Option<CopiedTexts>,
}

/// What a fork begins with.
#[derive(Debug, Serialize, JsonSchema)]
struct CopiedTexts {
    /// The number of texts. A notice that the chat is a fork follows them.
    messages: usize,
    /// The number of calls among them, which were not copied. What they did stays done, and their
    /// records stay in the chat that was forked.
    calls: usize,
    /// Whether the oldest texts were left out, because there are too many, or because they are a
    /// model's from before the user's first.
    is_cut: bool,
}

async fn fork(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(from): Ids<String>,
    wishes: Wishes,
    Json(ForkBody { before, id }): Json<ForkBody>,
) -> Result<Response, Problem> {
    let from = session_id(&from)?;
    let number = before.map_or_else(String::new, |before| before.to_string());
    let id = match (id, &wishes.key) {
        (Some(id), _) => session_id(&id)?,
        (None, Some(key)) => fork_id("fork of", &[from.as_str(), &number, key.as_str()]),
        (None, None) => session_id(&Uuid::new_v4().to_string())?,
    };
    let answer = |status, copied| {
        let location = [(LOCATION, paths::of_session(&id))];
        let (session, from) = (id.as_str().to_owned(), from.as_str().to_owned());
        let fork = ForkedSession { session, user: caller.user.clone(), from, before, copied };
        (status, location, json(&fork)).into_response()
    };
    // What has become of the chat since then does not matter.
    let has_key = wishes.key.is_some();
    let was_made = async || Ok::<_, Problem>(has_key && is_fork(&shared, &caller, &id).await?);
    if was_made().await? {
        return Ok(answer(StatusCode::OK, None));
    }
    let session = caller.session(&shared.runtime, from.as_str()).await?;
    if before.is_none() {
        must_rest(&session, Supersede::Never).await?;
    }
    shared.admit_opening(&caller.user, &id).await?;
    let fork = || session.fork(before, id.as_str());
    let made = takeover::begins(&shared, &caller.user, &id, fork).await?;
    match made {
        Some(Fork { is_new: true, messages, calls, is_cut, session: _ }) => {
            let copied = CopiedTexts { messages, calls, is_cut };
            Ok(answer(StatusCode::CREATED, Some(copied)))
        }
        _ if was_made().await? => Ok(answer(StatusCode::OK, None)),
        Some(_) => {
            let detail = "The new chat has begun already. Choose another id.";
            Err(Problem::new(ProblemName::Busy, detail).not_again().at("/id", detail))
        }
        None => Err(Problem::busy()),
    }
}

/// Returns whether the user has a chat of this id that begins as a fork does: its first turn is
/// what was copied, and a notice of that.
async fn is_fork(shared: &Shared, caller: &Caller, id: &SessionId) -> Result<bool, Problem> {
    let found = shared.runtime.user_with_id(&caller.user).find_session(id).await?;
    let Some(session) = found else { return Ok(false) };
    let mut entries = session.entries();
    let mut first = None;
    while let Some(part) = entries.next().await? {
        for entry in part {
            if entry.turn != *first.get_or_insert(entry.turn) {
                return Ok(false);
            }
            if entry.content == (Content::Notice { notice: Notice::Forked }) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
