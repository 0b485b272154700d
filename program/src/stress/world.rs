//! The world that the tools of a run act on, and the oracle that the driver keeps of it, apart from the store.
//!
//! Every tool is wrapped: that its handler was entered is noted before anything else, and a transactional one leaves a row
//! of the driver's own in the same transaction. The row names the call and has nothing unique about it that would hide a
//! second one.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use clap::ValueEnum;
use madang::{
    CallId,
    tool::{
        Access, BoxFuture, EffectPolicy, Locale, Need, Prepared, Problem, Tool, ToolContext,
        ToolFault, ToolOutcome, ToolResult, ToolSpec,
    },
};
use madang_testing::MemoryConnection;
use serde_json::{Value, json};
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};
use uuid::Uuid;

/// A mistake that a run is to make, to show that it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bug {
    /// A handler says that it wrote, and did not.
    Lost,
    /// A handler writes twice.
    Doubled,
    /// Destructive tools say that they are not.
    Unasked,
    /// A handler says that it failed when it has sent its letter.
    Misreported,
    /// Leaving a chat ends the turn of another.
    Disturbed,
}

/// The table of effects.
pub(crate) static EFFECTS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE stress_effects (id INTEGER PRIMARY KEY, call TEXT NOT NULL) STRICT";
    let first =
        Migration::new(1, "effects".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_stress_migrations");
    migrator
});

/// What a handler did, as the driver saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handled {
    /// How often it was entered.
    pub(crate) entered: u32,
    /// Letters it sent.
    pub(crate) letters: u32,
    /// A person must have said yes before.
    pub(crate) must_be_asked: bool,
    /// It writes in the ledger's transaction.
    pub(crate) is_transactional: bool,
    /// It returned a success.
    pub(crate) succeeded: bool,
}

/// What all tools of a run share.
#[derive(Debug, Default)]
pub(crate) struct World {
    handled: Mutex<HashMap<CallId, Handled>>,
}

impl World {
    /// Notes something about a call.
    pub(crate) fn note(&self, call: CallId, note: impl FnOnce(&mut Handled)) {
        let mut handled = self.handled.lock().expect("no code under this lock panics");
        note(handled.entry(call).or_default());
    }

    /// Takes the oracle.
    pub(crate) fn take(&self) -> HashMap<CallId, Handled> {
        std::mem::take(&mut self.handled.lock().expect("no code under this lock panics"))
    }
}

/// Wraps a tool so that the oracle knows of it.
pub(crate) fn booked(tool: Arc<dyn Tool>, world: &Arc<World>, bug: Option<Bug>) -> Arc<dyn Tool> {
    let mut spec = tool.spec().clone();
    if bug == Some(Bug::Unasked) && spec.effect == EffectPolicy::Destructive {
        spec.effect = EffectPolicy::Write;
    }
    Arc::new(Booked { tool, spec, world: world.clone(), bug })
}

#[derive(Debug)]
struct Booked {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    world: Arc<World>,
    bug: Option<Bug>,
}

impl Tool for Booked {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        self.tool.needs()
    }

    fn accepts(&self, arguments: &Value) -> Result<(), Problem> {
        self.tool.accepts(arguments)
    }

    fn asks(&self, arguments: &Value) -> bool {
        self.tool.asks(arguments)
    }

    fn consequence(&self, arguments: &Value, locale: Locale) -> Option<String> {
        self.tool.consequence(arguments, locale)
    }

    fn prepare<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        self.tool.prepare(arguments, ctx)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        mut access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            let is_destructive = self.tool.spec().effect == EffectPolicy::Destructive;
            let must_be_asked = is_destructive && self.tool.asks(&arguments);
            let is_transactional = matches!(access, Access::Transaction(_));
            self.world.note(ctx.call, |handled| {
                handled.entered += 1;
                handled.must_be_asked = must_be_asked;
                handled.is_transactional = is_transactional;
            });
            if let Access::Transaction(connection) = &mut access {
                let rows = match self.bug {
                    Some(Bug::Lost) => 0,
                    Some(Bug::Doubled) => 2,
                    Some(Bug::Unasked | Bug::Misreported | Bug::Disturbed) | None => 1,
                };
                for _ in 0..rows {
                    leave_row(&mut **connection, ctx.call).await?;
                }
            }
            let outcome = self.tool.call(arguments, prepared, ctx, access).await?;
            if !is_transactional && self.bug == Some(Bug::Misreported) {
                return Err(ToolFault::rule("planted", "planted"));
            }
            self.world.note(ctx.call, |handled| handled.succeeded = outcome.is_ok());
            Ok(outcome)
        })
    }
}

/// Leaves a row in the open transaction of whichever store it is.
async fn leave_row(connection: &mut (dyn Any + Send), call: CallId) -> ToolResult<()> {
    if let Some(memory) = connection.downcast_mut::<MemoryConnection>() {
        // Values have names: this one is used once.
        memory.put(format!("{call} {}", Uuid::now_v7()), json!(call))?;
    } else if let Some(db) = connection.downcast_mut::<SqliteConnection>() {
        let insert = sqlx::query("INSERT INTO stress_effects (call) VALUES ($1)");
        insert.bind(call.to_string()).execute(db).await?;
    }
    Ok(())
}
