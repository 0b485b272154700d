//! The tools of the evening. Each writes the token that it is given, into a table or outside, without a unique key that
//! would hide a double.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    pin::pin,
    sync::{Arc, LazyLock},
    task::{Context, Waker},
    time::Duration,
};

use madang::tool::{self, EffectPolicy, Tool, ToolContext, ToolFault, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};
use tokio::sync::Notify;

/// The table of rows.
pub(crate) static EFFECTS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE effects (token TEXT NOT NULL)";
    let first =
        Migration::new(1, "effects".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_effects_migrations");
    migrator
});

/// What the driver shares with its tools.
#[derive(Debug)]
pub(crate) struct Outside {
    /// The world beyond the store: each mail is a line.
    pub(crate) mails: PathBuf,
    /// The slow handler has begun.
    pub(crate) begun: Notify,
}

#[derive(Deserialize, JsonSchema)]
struct Token {
    /// What is written.
    token: String,
}

/// A plain tool that takes longer than this is told to be late.
const TIMEOUT: Duration = Duration::from_millis(40);

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(
            tool::transactional("add_row", "Adds a row.", add_row).effect(EffectPolicy::Write),
        ),
        Arc::new(tool::transactional("save_row", "Adds a row, when told to.", add_row)),
        Arc::new(
            tool::transactional("slow_row", "Adds a row, slowly.", slow_row)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("rule_row", "Adds a row and breaks a rule.", rule_row)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("panic_row", "Adds a row and panics.", panic_row)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("commit_row", "Adds a row and ends the transaction.", commit_row)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(tool::plain("send_mail", "Sends a mail.", send_mail).effect(EffectPolicy::Write)),
        Arc::new(
            tool::plain("panic_mail", "Sends a mail and panics.", panic_mail)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::plain("slow_mail", "Sends a mail, too slowly.", slow_mail)
                .effect(EffectPolicy::Write)
                .timeout(TIMEOUT),
        ),
        Arc::new(tool::reading("count_rows", "Counts the rows.", count_rows)),
    ]
}

async fn add_row(given: Token, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<Value> {
    sqlx::query("INSERT INTO effects (token) VALUES ($1)").bind(given.token).execute(db).await?;
    Ok(json!({ "added": true }))
}

async fn slow_row(given: Token, db: &mut SqliteConnection, ctx: &ToolContext) -> ToolResult<Value> {
    outside(ctx).begun.notify_one();
    tokio::time::sleep(Duration::from_millis(20)).await;
    add_row(given, db, ctx).await
}

async fn rule_row(given: Token, db: &mut SqliteConnection, ctx: &ToolContext) -> ToolResult<Value> {
    add_row(given, db, ctx).await?;
    Err(ToolFault::rule("full", "There is no place left."))
}

async fn panic_row(
    given: Token,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    add_row(given, db, ctx).await?;
    panic!("after the write")
}

async fn commit_row(
    given: Token,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    add_row(given, &mut *db, ctx).await?;
    if sqlx::query("COMMIT").execute(&mut *db).await.is_ok() {
        return Ok(json!({ "committed": true }));
    }
    // What it leaves behind is prepared only when the writer goes on with the connection, which is then lost.
    leave(db, COUNTS_FOR_A_WHILE);
    leave(db, "ROLLBACK");
    Ok(json!({ "added": true }))
}

const COUNTS_FOR_A_WHILE: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
    SELECT count(*) FROM n";

/// Begins a statement and gives it up.
fn leave(db: &mut SqliteConnection, statement: &'static str) {
    let left = pin!(sqlx::query(statement).execute(db));
    assert!(left.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

async fn count_rows(_: Token, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<Value> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(db).await?;
    Ok(json!({ "count": count }))
}

async fn send_mail(given: Token, ctx: &ToolContext) -> ToolResult<Value> {
    let mut mails = OpenOptions::new().append(true).create(true).open(&outside(ctx).mails)?;
    // In one piece: two of them are sent at once.
    mails.write_all(format!("{}\n", given.token).as_bytes())?;
    Ok(json!({ "sent": true }))
}

async fn panic_mail(given: Token, ctx: &ToolContext) -> ToolResult<Value> {
    send_mail(given, ctx).await?;
    panic!("after the mail")
}

async fn slow_mail(given: Token, ctx: &ToolContext) -> ToolResult<Value> {
    tokio::time::sleep(2 * TIMEOUT).await;
    send_mail(given, ctx).await
}

fn outside(ctx: &ToolContext) -> &Outside {
    ctx.extension::<Arc<Outside>>().expect("every evening has an outside")
}
