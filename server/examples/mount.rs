//! Madang below an application of its own: one router with the application's routes and those of
//! the server.
//!
//! Serves until it is stopped: <http://127.0.0.1:3000/hello>, and the chats beside it.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use axum::{Router, routing::get};
use madang::{Runtime, UserId};
use madang_server::{Server, ServerOptions, TokenEntry, TokenHolder, TokenScopes, TokenSecret};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};

fn app(server: &Server) -> Router {
    Router::new().route("/hello", get(async || "Good day.")).merge(server.router())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Good day.")]);
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    let secret = TokenSecret::random()?;
    let kim = TokenHolder::User(UserId::new("kim")?);
    let token = TokenEntry::new("demo", kim, TokenScopes::OF_PERSON, &secret);
    let server = Server::new(runtime, ServerOptions::default().token(token))?;
    println!("curl -H 'authorization: Bearer {}' http://127.0.0.1:3000/v1/me", secret.reveal());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    let stopped = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, app(&server)).with_graceful_shutdown(stopped).await?;
    Ok(server.drain().await?)
}
