//! The tools: they write, send, break rules, panic, dawdle, and leave traces that name their call.
//! No constraint makes a trace unique, so a second one is not hidden.

use std::{
    any::Any,
    panic::resume_unwind,
    pin::pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Waker},
    time::Duration,
};

use madang::{
    CallId,
    tool::{
        Access, BoxFuture, ConnectionType, EffectPolicy, Fault, Need, Prepared, Tool, ToolContext,
        ToolFault, ToolOutcome, ToolResult, ToolSpec,
    },
};
use madang_testing::MemoryConnection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::{
    FromRow, SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};

use tokio::time::sleep;

use super::{Act, Fate, Point};
use crate::oracle::{Line, Witness};

/// The table of effects.
pub static EFFECTS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE proof_effects \
                 (id INTEGER PRIMARY KEY, token TEXT NOT NULL, act TEXT NOT NULL, part INTEGER NOT NULL, call TEXT NOT NULL) \
                 STRICT";
    let first =
        Migration::new(1, "effects".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_proof_migrations");
    migrator
});

/// The time of a slow handler.
const SLOW: Duration = Duration::from_millis(20);

/// The time after which a slow letter is late.
const LATE: Duration = Duration::from_millis(40);

/// Rows of one effect: with fewer it is torn.
pub(crate) const PARTS: i64 = 2;

/// A part of an effect, in the store.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct EffectRow {
    /// The name of the effect.
    pub token: String,
    /// The tool that wrote it.
    pub act: String,
    /// The number of the part.
    pub part: i64,
    /// The call that wrote it.
    pub call: String,
}

/// A tool that does one act.
#[derive(Debug)]
pub(super) struct Deed {
    act: Act,
    spec: ToolSpec,
    connection: ConnectionType,
    fate: Fate,
    witness: Witness,
}

/// Makes all tools for a store that lends such connections.
pub(super) fn all(
    connection: ConnectionType,
    timeout: Duration,
    fate: &Fate,
    witness: &Witness,
) -> Vec<Arc<dyn Tool>> {
    let deed = |act: Act| -> Arc<dyn Tool> {
        let effect = if act.asks() {
            EffectPolicy::Destructive
        } else if act == Act::Look {
            EffectPolicy::Read
        } else {
            EffectPolicy::Write
        };
        let timeout = if act == Act::SlowMail { LATE } else { timeout };
        let schema = json!({
            "type": "object",
            "properties": { "token": { "type": "string" } },
            "required": ["token"],
        });
        let spec = ToolSpec::new(act.name(), "Does what the plan says.", schema);
        let spec = spec.effect(effect).timeout(timeout);
        let fate = fate.clone();
        let witness = witness.clone();
        Arc::new(Deed { act, spec, connection, fate, witness })
    };
    Act::ALL.into_iter().filter(|act| act.has_tool()).map(deed).collect()
}

impl Deed {
    async fn carry_out(
        &self,
        token: &str,
        ctx: &ToolContext,
        access: Access<'_>,
    ) -> ToolResult<ToolOutcome> {
        let fate = &self.fate;
        let name = self.act.name();
        let call = ctx.call;
        fate.pass(Point::ToolBegun, format_args!("tool {name} {token} begins for {call}"));
        fate.pause().await;
        if self.act == Act::SlowSave {
            sleep(SLOW).await;
        } else if self.act == Act::SlowMail {
            sleep(2 * LATE).await;
        }
        if self.act.sends() {
            self.witness.note(Line::Sent { token: token.to_owned(), call });
            fate.pass(Point::ToolWritten, format_args!("tool {name} {token} has sent"));
            fate.pause().await;
        } else if self.act.writes() {
            let Access::Transaction(db) = access else {
                let cause = "a tool that writes was lent no transaction";
                return Err(ToolFault::unexpected(Fault::default(), cause));
            };
            for part in 1..=PARTS {
                let act = name.to_owned();
                let call = call.to_string();
                let row = EffectRow { token: token.to_owned(), act, part, call };
                write(db, &row).await?;
                fate.pass(
                    Point::ToolWritten,
                    format_args!("tool {name} {token} has written {part}"),
                );
                fate.pause().await;
            }
            // Only SQLite refuses a borrower's `COMMIT`; in PostgreSQL this act is a save like others.
            if self.act == Act::SpoilingSave
                && let Some(db) = db.downcast_mut::<SqliteConnection>()
            {
                spoil(db).await;
            }
        }
        if self.act == Act::Hang {
            std::future::pending::<()>().await;
        }
        if matches!(self.act, Act::Panic | Act::PanickingMail) || fate.fails_once_in(60) {
            fate.note(format_args!("tool {name} {token} panics"));
            // A usual panic, except that it is not printed.
            resume_unwind(Box::new("a tool panics on purpose"));
        }
        if self.act == Act::Breach {
            return Err(ToolFault::rule("breach", "a rule is broken"));
        }
        if self.act == Act::Fail || fate.fails_once_in(60) {
            fate.note(format_args!("tool {name} {token} fails"));
            return Err(ToolFault::unexpected(Fault::default(), "it fails on purpose"));
        }
        fate.note(format_args!("tool {name} {token} ends"));
        Ok(ToolOutcome::ok(json!({ "done": token })))
    }
}

/// Ends the transaction, or leaves a statement behind that ends it when the writer goes on with the
/// connection.
async fn spoil(db: &mut SqliteConnection) {
    if sqlx::query("COMMIT").execute(&mut *db).await.is_ok() {
        return;
    }
    // An abandoned statement is prepared only when the writer goes on with the connection, which is
    // then lost.
    for statement in [COUNTS_FOR_A_WHILE, "ROLLBACK"] {
        let left = pin!(sqlx::query(statement).execute(&mut *db));
        assert!(left.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
}

const COUNTS_FOR_A_WHILE: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
    SELECT count(*) FROM n";

/// Memory keeps values by name: this one is used once.
static NAMES: AtomicU64 = AtomicU64::new(0);

fn put(db: &mut MemoryConnection, row: &Value) -> ToolResult<()> {
    Ok(db.put(format!("effect {}", NAMES.fetch_add(1, Relaxed)), row.clone())?)
}

/// Writes a part of an effect into the open transaction of a store.
async fn write(db: &mut (dyn Any + Send), row: &EffectRow) -> ToolResult<()> {
    if let Some(db) = db.downcast_mut::<MemoryConnection>() {
        return put(db, &json!(row));
    }
    let insert = "INSERT INTO proof_effects (token, act, part, call) VALUES ($1, $2, $3, $4)";
    let EffectRow { token, act, part, call } = row;
    #[cfg(feature = "sqlite")]
    if let Some(db) = db.downcast_mut::<sqlx::PgConnection>() {
        sqlx::query(insert).bind(token).bind(act).bind(part).bind(call).execute(db).await?;
        return Ok(());
    }
    let other = || ToolFault::unexpected(Fault::default(), "the store lends another connection");
    let db = db.downcast_mut::<SqliteConnection>().ok_or_else(other)?;
    sqlx::query(insert).bind(token).bind(act).bind(part).bind(call).execute(db).await?;
    Ok(())
}

/// Writes once more the effects that this transaction of a store in memory sees.
pub(crate) fn write_again(db: &mut MemoryConnection, mut is_new: impl FnMut(&EffectRow) -> bool) {
    for value in db.values().into_values() {
        if is_new(&row_of(&value)) {
            put(db, &value).expect("a transaction can write");
        }
    }
}

fn row_of(value: &Value) -> EffectRow {
    EffectRow::deserialize(value).expect("memory has what tools wrote")
}

/// Returns the effects in a store in memory.
pub(crate) fn memory_rows(db: &MemoryConnection) -> Vec<EffectRow> {
    db.values().values().map(row_of).collect()
}

/// Records the end of a handler, at the latest when its future is dropped.
struct HandlerEnd<'a> {
    witness: &'a Witness,
    call: CallId,
    is_ok: bool,
}

impl Drop for HandlerEnd<'_> {
    fn drop(&mut self) {
        self.witness.note(Line::Returned { call: self.call, is_ok: self.is_ok });
    }
}

impl Tool for Deed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        if self.act == Act::Look {
            Some(Need::Reader(self.connection))
        } else {
            self.act.writes().then_some(Need::Transaction(self.connection))
        }
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            let token = arguments["token"].as_str().unwrap_or_default();
            self.witness.note(Line::Begun {
                at: madang::Clock::now(&self.fate),
                call: ctx.call,
                act: self.act,
                token: token.to_owned(),
                user: ctx.user.clone(),
            });
            let mut running = HandlerEnd { witness: &self.witness, call: ctx.call, is_ok: false };
            let ended = self.carry_out(token, ctx, access).await;
            running.is_ok = ended.as_ref().is_ok_and(ToolOutcome::is_ok);
            ended
        })
    }
}
