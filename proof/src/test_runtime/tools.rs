//! The tools of a proof. Each effect is rows that carry the call's token, with nothing unique about them that would hide a
//! second one.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use madang::{
    ledger::Effect,
    tool::{self, EffectPolicy, Tool, ToolContext, ToolFault, ToolResult},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{
    ConnectOptions, Connection, SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::SqliteConnectOptions,
};

use super::{
    Say,
    plan::Act,
    point::{Point, Points},
};
use crate::oracle::{Heard, Line};

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

/// Rows of one effect: with fewer it is torn.
pub(crate) const PARTS: i64 = 2;

/// A mistake that a proof must find, or it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// An effect is acknowledged by its handler, before the commit.
    AcknowledgedBeforeCommit,
    /// An effect is done twice.
    Twice,
    /// An effect is written by a connection of the handler's own, beside the ledger's transaction.
    OtherConnection,
    /// A destructive tool says that it is not.
    Unasked,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::AcknowledgedBeforeCommit, Self::Twice, Self::OtherConnection, Self::Unasked];

    /// Its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AcknowledgedBeforeCommit => "acknowledged-before-commit",
            Self::Twice => "twice",
            Self::OtherConnection => "other-connection",
            Self::Unasked => "unasked",
        }
    }
}

/// What the tools share.
pub(super) struct Tools {
    pub(super) points: Points,
    pub(super) say: Say,
    pub(super) bug: Option<Bug>,
    pub(super) database: PathBuf,
    pub(super) letters: PathBuf,
}

#[derive(Deserialize, JsonSchema)]
struct Token {
    /// Names the effect.
    token: String,
}

impl Tools {
    pub(super) fn all(self) -> Vec<Arc<dyn Tool>> {
        let bug = self.bug;
        let tools = tool::with(self);
        let erase = tools.transactional("erase", "Writes what asks.", Self::erase);
        let erase =
            if bug == Some(Bug::Unasked) { erase.effect(EffectPolicy::Write) } else { erase };
        let save: Arc<dyn Tool> = if bug == Some(Bug::OtherConnection) {
            Arc::new(
                tools
                    .plain("save", "Writes elsewhere.", Self::save_elsewhere)
                    .effect(EffectPolicy::Write),
            )
        } else {
            Arc::new(tools.transactional("save", "Writes.", Self::save).effect(EffectPolicy::Write))
        };
        vec![
            save,
            Arc::new(erase),
            Arc::new(
                tools
                    .transactional("breach", "Breaks a rule.", Self::breach)
                    .effect(EffectPolicy::Write),
            ),
            Arc::new(
                tools.transactional("panic", "Panics.", Self::panic).effect(EffectPolicy::Write),
            ),
            Arc::new(
                tools.plain("mail", "Sends a letter.", Self::mail).effect(EffectPolicy::Write),
            ),
            Arc::new(tools.reading("look", "Counts.", Self::look)),
        ]
    }

    async fn save(
        &self,
        Token { token }: Token,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        self.write(Act::Save, token, db, ctx).await
    }

    async fn erase(
        &self,
        Token { token }: Token,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        self.write(Act::Erase, token, db, ctx).await
    }

    async fn write(
        &self,
        act: Act,
        token: String,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        self.points.pass(Point::ToolBegun);
        let times = if self.bug == Some(Bug::Twice) { 2 } else { 1 };
        for _ in 0..times {
            for part in 1..=PARTS {
                effect(db, act, &token, part, ctx).await?;
            }
        }
        if self.bug == Some(Bug::AcknowledgedBeforeCommit) {
            (self.say)(Line::Heard(Heard {
                token,
                tool: act.name().to_owned(),
                outcome: "ok".to_owned(),
                effect: Effect::Committed,
            }));
        }
        self.points.pass(Point::ToolWritten);
        Ok(json!({ "written": PARTS }))
    }

    /// The mistake of [`Bug::OtherConnection`].
    async fn save_elsewhere(&self, Token { token }: Token, ctx: &ToolContext) -> ToolResult<Value> {
        let mut db = SqliteConnectOptions::new().filename(&self.database).connect().await?;
        for part in 1..=PARTS {
            effect(&mut db, Act::Save, &token, part, ctx).await?;
        }
        db.close().await?;
        self.points.pass(Point::ToolWritten);
        Ok(json!({ "written": PARTS }))
    }

    async fn breach(
        &self,
        Token { token }: Token,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        effect(db, Act::Breach, &token, 1, ctx).await?;
        self.points.pass(Point::ToolWritten);
        Err(ToolFault::rule("breach", "a rule is broken"))
    }

    async fn panic(
        &self,
        Token { token }: Token,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        effect(db, Act::Panic, &token, 1, ctx).await?;
        self.points.pass(Point::ToolWritten);
        // A panic like any other, but that nobody prints it.
        std::panic::resume_unwind(Box::new("planned"));
    }

    async fn mail(&self, Token { token }: Token, _: &ToolContext) -> ToolResult<Value> {
        self.points.pass(Point::ToolBegun);
        let mut letters = OpenOptions::new().create(true).append(true).open(&self.letters)?;
        // One write, so that a letter is sent or not.
        letters.write_all(format!("{token}\n").as_bytes())?;
        self.points.pass(Point::ToolWritten);
        Ok(json!({ "sent": true }))
    }

    async fn look(
        &self,
        _: Token,
        db: &mut SqliteConnection,
        _: &ToolContext,
    ) -> ToolResult<Value> {
        let rows: i64 =
            sqlx::query_scalar("SELECT count(*) FROM proof_effects").fetch_one(db).await?;
        Ok(json!({ "rows": rows }))
    }
}

async fn effect(
    db: &mut SqliteConnection,
    act: Act,
    token: &str,
    part: i64,
    ctx: &ToolContext,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO proof_effects (token, act, part, call) VALUES ($1, $2, $3, $4)")
        .bind(token)
        .bind(act.name())
        .bind(part)
        .bind(ctx.call.to_string())
        .execute(db)
        .await
        .map(drop)
}
