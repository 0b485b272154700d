//! Chats over HTTP: `POST /chat/{user}/{session}`, and 429 with `Retry-After` where there is no place for another turn.
//! Checked with: --self-test

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{error::Error, time::Duration};

use axum::http::{Request, StatusCode, header::RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::{Router, body::Body, extract::Path, extract::State, routing::post};
use madang::{Limits, Runtime, error::LimitExceeded};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
use tower::ServiceExt as _;

async fn chat(
    State(runtime): State<Runtime>,
    Path((user, session)): Path<(String, String)>,
    text: String,
) -> Result<String, Response> {
    let session = runtime.session(&user, &session).await.map_err(|error| refused(&error))?;
    let turn = session.send(text).await.map_err(|error| refused(&error))?;
    turn.text().await.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()).into_response())
}

/// A bound that was reached says when to come again; anything else is a matter of the request.
fn refused(error: &dyn Error) -> Response {
    let Some(refusal) = error.source().and_then(|cause| cause.downcast_ref::<LimitExceeded>())
    else {
        return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
    };
    let seconds = refusal.retry_after.map_or(1, |wait| wait.as_secs() + 1).to_string();
    (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds)], refusal.to_string()).into_response()
}

async fn ask(app: Router, number: u32) -> Result<u32, Box<dyn Error + Send + Sync>> {
    let mut refusals = 0;
    loop {
        let request =
            Request::post(format!("/chat/user-{number}/chat-{number}")).body(Body::from("hi"))?;
        let response = app.clone().oneshot(request).await?;
        match response.headers().get(RETRY_AFTER) {
            Some(later) => tokio::time::sleep(Duration::from_secs(later.to_str()?.parse()?)).await,
            None if response.status() == StatusCode::OK => return Ok(refusals),
            None => return Err(response.status().to_string().into()),
        }
        refusals += 1;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut limits = Limits::default();
    limits.max_running_turns = 600; // so that some of the 1,000 are asked to come again
    let answer = ScriptedCompletion::text("Good day.").after(Duration::from_millis(50));
    let builder = Runtime::builder().model(ScriptedModel::repeating([answer])).limits(limits);
    let runtime = builder.store(MemoryStore::new()).start().await?;
    let app = Router::new().route("/chat/{user}/{session}", post(chat)).with_state(runtime.clone());
    if !std::env::args().any(|argument| argument == "--self-test") {
        return Ok(axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?);
    }
    let people: Vec<_> = (0..1000).map(|number| tokio::spawn(ask(app.clone(), number))).collect();
    let (mut answered, mut refusals) = (0, 0);
    for person in people {
        (answered, refusals) = (answered + 1, refusals + person.await??);
    }
    println!("{answered} sessions were answered, after {refusals} times 429");
    Ok(runtime.shutdown().await?)
}
