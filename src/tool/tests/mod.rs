//! Every way to write a tool, against a connection that is none.

use std::{error::Error, sync::Arc};

use madang_actors::{
    port::SystemClock,
    protocol::{CallId, Limits, SessionId, UserId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

mod arguments;
mod handlers;

/// Stands for a database connection.
#[derive(Debug, Default, PartialEq)]
struct Db {
    rows: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// What to add.
    #[schemars(length(min = 1))]
    row: String,
    #[serde(default)]
    times: u8,
}

#[derive(Serialize)]
struct Added {
    row: String,
    count: usize,
}

async fn add(args: Add, db: &mut Db, ctx: &ToolContext) -> ToolResult<Added> {
    if args.row == "forbidden" {
        return Err(ToolFault::rule("r1_row", ctx.locale.pick("안 됩니다", "not this one")));
    }
    for _ in 0..args.times.max(1) {
        tokio::task::yield_now().await;
        db.rows.push(args.row.clone());
    }
    Ok(Added { row: args.row, count: db.rows.len() })
}

async fn count(_: NoArguments, db: &mut Db, _: &ToolContext) -> ToolResult<usize> {
    Ok(db.rows.len())
}

async fn shout(args: Add, ctx: &ToolContext) -> ToolResult<String> {
    tokio::task::yield_now().await;
    Ok(format!("{}: {}!", ctx.user, args.row))
}

fn context(locale: Locale) -> ToolContext {
    ToolContext {
        session: SessionId::new("session").unwrap(),
        user: UserId::new("mina").unwrap(),
        call: CallId::new(uuid::Uuid::nil()),
        locale,
        time_zone: "Asia/Seoul".into(),
        clock: Arc::new(SystemClock),
        cancelled: Default::default(),
        progress: Default::default(),
        extensions: Default::default(),
    }
}

fn registered(tool: impl Tool) -> Arc<RegisteredTool> {
    let mut registry = ToolRegistry::new();
    let name = tool.spec().name.clone();
    registry.register(tool).unwrap();
    Arc::clone(registry.get(&name).unwrap())
}

async fn run(tool: &impl Tool, arguments: Value, access: Access<'_>) -> ToolResult<ToolOutcome> {
    tool.call(arguments, Prepared::default(), &context(Locale::KO), access).await
}

/// Checks the arguments first, as the dispatcher does.
async fn run_checked(tool: &RegisteredTool, arguments: Value) -> ToolResult<ToolOutcome> {
    let arguments = tool.validate(arguments).unwrap().arguments;
    let ctx = context(Locale::KO);
    let limits = Limits::default();
    tool.handle(arguments, Prepared::default(), &ctx, Access::None, &limits).await
}

fn fault(ended: ToolResult<ToolOutcome>) -> (Fault, Box<dyn Error + Send + Sync>) {
    let Err(ToolFault::Unexpected { fault, cause, .. }) = ended else {
        panic!("expected a fault, got {ended:?}")
    };
    (fault, cause)
}
