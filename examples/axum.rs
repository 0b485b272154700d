//! Chats over HTTP: `POST /chat/{user}/{session}`, and 429 with `Retry-After` if there is no room
//! for another turn.
//!
//! Serves until it is stopped: `tests/it/over_http.rs` asks it for a thousand chats.

use axum::http::{StatusCode, header::RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::{Router, extract::Path, extract::State, routing::post};
use madang::{Error, Runtime};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};

async fn chat(
    State(runtime): State<Runtime>,
    Path((user, session)): Path<(String, String)>,
    text: String,
) -> Result<String, Response> {
    let user = runtime.user(&user).map_err(|error| failed(StatusCode::BAD_REQUEST, &error))?;
    let session = user.session(&session).await;
    let session = session.map_err(|error| failed(StatusCode::BAD_REQUEST, &error))?;
    let turn = session.send(text).await.map_err(|error| refused(&error))?;
    turn.text().await.map_err(|error| failed(StatusCode::BAD_GATEWAY, &error))
}

fn failed(status: StatusCode, error: &dyn std::error::Error) -> Response {
    (status, error.to_string()).into_response()
}

/// A bound that was reached says when to come again; anything else is a matter of the request.
fn refused(error: &Error) -> Response {
    let Error::Overloaded(limit) = error else {
        return failed(StatusCode::BAD_REQUEST, error);
    };
    let seconds = limit.retry_after.map_or(1, |wait| wait.as_secs() + 1).to_string();
    (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds)], limit.to_string()).into_response()
}

pub(crate) fn app(runtime: Runtime) -> Router {
    Router::new().route("/chat/{user}/{session}", post(chat)).with_state(runtime)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Good day.")]);
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, app(runtime)).await?)
}
