//! An application with chats over HTTP: a turn streams as server-sent events, a person decides
//! about a call, and a tool writes a table of the application. Its model follows a script, so that
//! it needs no model file.
//!
//! Serves until it is stopped: docs/embedding.md shows the requests.

use std::{error::Error, sync::LazyLock};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::sse::{Event, KeepAlive, Sse},
    routing::post,
};
use futures_util::{Stream, StreamExt as _};
use madang::store::SqliteStore;
use madang::store::sqlx::migrate::{Migration, MigrationType::Simple, Migrator};
use madang::store::sqlx::{self, SqlSafeStr as _, SqliteConnection};
use madang::tool::{self, ToolContext, ToolResult, schemars::JsonSchema};
use madang::{CallId, Limits, Runtime, Turn, approval::Decision, approval::Digest};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use serde_json::json;

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let sql =
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, user TEXT NOT NULL, title TEXT NOT NULL)";
    let tasks = Migration::new(1, "tasks".into(), Simple, sql.into_sql_str(), false);
    Migrator::with_migrations(vec![tasks])
});

#[derive(serde::Deserialize, JsonSchema)]
#[schemars(crate = "madang::tool::schemars")]
struct AddTask {
    /// What is to be done.
    title: String,
}

/// Adds a task. Its row and the record of the call are committed together.
async fn add_task(task: AddTask, db: &mut SqliteConnection, ctx: &ToolContext) -> ToolResult<i64> {
    let insert = sqlx::query("INSERT INTO tasks (user, title) VALUES ($1, $2)");
    let insert = insert.bind(ctx.user.as_str().to_owned()).bind(task.title);
    Ok(insert.execute(db).await?.last_insert_rowid())
}

type Refused = (StatusCode, String);

fn refused(status: StatusCode, error: &dyn Error) -> Refused {
    (status, error.to_string())
}

/// Begins a turn and streams it. If the client disconnects, the turn goes on.
async fn chat(
    State(runtime): State<Runtime>,
    Path((user, session)): Path<(String, String)>,
    text: String,
) -> Result<Sse<impl Stream<Item = serde_json::Result<Event>>>, Refused> {
    let turn = begin(&runtime, &user, &session, text).await.map_err(|error| {
        let status = match error {
            madang::Error::Overloaded(_) => StatusCode::TOO_MANY_REQUESTS,
            madang::Error::Busy => StatusCode::CONFLICT,
            madang::Error::Store(_) | madang::Error::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        refused(status, &error)
    })?;
    let events = turn.events().map(|item| {
        let json = serde_json::to_string(&item)?;
        Ok(Event::default().data(json))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

async fn begin(
    runtime: &Runtime,
    user: &str,
    session: &str,
    text: String,
) -> Result<Turn, madang::Error> {
    runtime.user(user)?.session(session).await?.send(text).await
}

/// What a client sends back about an event `approval_requested`: its call, its digest, and the
/// decision.
#[derive(serde::Deserialize)]
struct Decided {
    call: CallId,
    digest: Digest,
    #[serde(flatten)]
    decision: Decision,
}

async fn decide(
    State(runtime): State<Runtime>,
    Path(user): Path<String>,
    body: String,
) -> Result<StatusCode, Refused> {
    let Decided { call, digest, decision } =
        serde_json::from_str(&body).map_err(|error| refused(StatusCode::BAD_REQUEST, &error))?;
    let user = runtime.user(&user).map_err(|error| refused(StatusCode::BAD_REQUEST, &error))?;
    let decided = user.decide(call, digest, decision).await;
    decided.map_err(|error| refused(StatusCode::CONFLICT, &error))?;
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call("add_task", &json!({ "title": "Buy milk" })),
        ScriptedCompletion::text("I wrote that down."),
    ]);
    let runtime = Runtime::builder()
        .model(model)
        .store(SqliteStore::open("tasks.db").migrations("tasks", &MIGRATIONS).await?)
        .tool(tool::transactional("add_task", "Adds a task to the user's list.", add_task))
        .limits(Limits { max_rounds: 8, ..Limits::default() })
        .start()
        .await?;
    // Turns that a crash cut off go on without a caller.
    let resumed = runtime.clone();
    tokio::spawn(async move { resumed.resume_open().await });

    // Here the user's name is in the path. A real application takes it from the login.
    let app = Router::new()
        .route("/users/{user}/chats/{session}", post(chat))
        .route("/users/{user}/decisions", post(decide))
        .with_state(runtime.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        stopped = tokio::signal::ctrl_c() => stopped?,
    }
    Ok(runtime.shutdown().await?)
}
