//! Renames and deletes chats.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::store::{InvalidTitle, SessionTitle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    extract::{Json, OwnSession},
    forms::ChatTitle,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::patch("/v1/sessions/{session}", chat, rename).id("renameSession")
            .begins()
            .says("Gives the chat a title, with which it is listed.")
            .takes::<TitleBody>(|| serde_json::json!({ "title": "Sleeping better" }))
            .gives::<TitledSession>(StatusCode::OK, "The title as it is listed now.")
            .refuses(&[ProblemName::Empty]),
        Route::delete("/v1/sessions/{session}", chat, delete).id("deleteSession")
            .begins()
            .says("Deletes the chat: its texts, calls, approvals and name. The hashes of its ledger stay.")
            .gives_nothing(StatusCode::NO_CONTENT, "The chat is deleted.")
            .refuses(&[ProblemName::Busy]),
    ]
}

/// A title for a chat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["title"]))]
struct TitleBody {
    /// One line of 1 to 80 characters. With `null`, the title is made of the first text again.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(with = "ChatTitle")]
    title: Option<String>,
}

/// A chat with its title.
#[derive(Debug, Serialize, JsonSchema)]
struct TitledSession {
    session: String,
    /// It is empty if the chat has neither a title nor a text.
    title: String,
}

async fn rename(
    OwnSession(session): OwnSession,
    Json(TitleBody { title }): Json<TitleBody>,
) -> Result<Response, Problem> {
    let title = title.map(|text| SessionTitle::new(&text)).transpose().map_err(wrong_title)?;
    session.rename(title.clone()).await?;
    // A chat without a text is not listed yet.
    let title = match title {
        Some(title) => title.to_string(),
        None => session.summary().await?.map_or_else(String::new, |listed| listed.title),
    };
    Ok(json(&TitledSession { session: session.id().as_str().to_owned(), title }))
}

fn wrong_title(invalid: InvalidTitle) -> Problem {
    let detail = format!("A title has 1 to {} characters.", SessionTitle::MAX_CHARACTERS);
    let name = match invalid {
        InvalidTitle::TooLong => ProblemName::TooLong,
        InvalidTitle::Empty | _ => ProblemName::Empty,
    };
    Problem::new(name, detail.clone()).at("/title", detail)
}

async fn delete(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    OwnSession(session): OwnSession,
) -> Result<StatusCode, Problem> {
    session.delete().await?;
    // The name of the chat is kept there for clients that name none. The chat is deleted in any case.
    let forgotten = shared.memory.forget_chat(caller.user, session.id().clone()).await;
    if let Err(error) = forgotten {
        warn!(%error, "the name of a deleted chat is still remembered");
    }
    Ok(StatusCode::NO_CONTENT)
}
