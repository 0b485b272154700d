//! Lives of a runtime on one database. After a crash the next life begins with the bytes that were
//! in the file at that moment, as it would after `kill -9`. Whatever the dying life still does, it
//! does to a file without readers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use madang::{
    Builder, CallId, Clock, LanguageTag, Limits, Runtime, Session, SessionId, SystemClock,
    Timestamp, Turn, TurnOptions,
    ledger::{Effect, LedgerFilter, LedgerRow},
    model::{ChatModel, Completion, CompletionRequest, PromptMessage},
    store::{SqliteStore, Store},
    tool::{self, EffectPolicy, ToolContext, ToolResult, TypedTool},
};
use madang_testing::{HandCompletion, HandScript, Probe, RuntimeHooks as _, model_pair};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::everywhere::copy;
use crate::support::{PATIENCE, wanted};

pub(super) static NOTES: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE notes (id INTEGER PRIMARY KEY, call TEXT NOT NULL) STRICT";
    let first =
        Migration::new(1, "notes".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_notes_migrations");
    migrator
});

/// A folder with a database, and what outlives every process: the mails that were sent.
pub(super) struct World {
    folder: TempDir,
    /// How many crashes there were.
    crashes: AtomicU32,
    /// Which handlers began, by the tool's name; none of them knows what became of those before it.
    pub(super) begun: Arc<Mutex<Vec<(String, CallId)>>>,
    pub(super) limits: Limits,
    /// How far the clock of the next life is ahead.
    pub(super) later: Duration,
    pub(super) has_temporary_chats: bool,
    /// The tools of the next life.
    pub(super) tools: fn() -> Vec<Arc<dyn tool::Tool>>,
}

/// One process, as far as the database can tell.
pub(super) struct Life {
    threads: tokio::runtime::Runtime,
    pub(super) runtime: Runtime,
    pub(super) store: SqliteStore,
    pub(super) script: HandScript,
    pub(super) gate: Arc<Gate>,
    held: Vec<HandCompletion>,
}

/// Holds handlers of tools whose name begins with `slow`.
#[derive(Debug)]
pub(super) struct Gate {
    begun: Semaphore,
    open: Semaphore,
    log: Arc<Mutex<Vec<(String, CallId)>>>,
}

#[derive(Debug)]
struct Later(Duration);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        SystemClock.now().after(self.0)
    }
}

impl World {
    pub(super) fn new() -> Self {
        let limits = Limits { transaction_deadline: PATIENCE, ..Limits::default() };
        Self {
            folder: tempfile::tempdir().unwrap(),
            crashes: AtomicU32::new(0),
            begun: Arc::default(),
            limits,
            later: Duration::ZERO,
            has_temporary_chats: false,
            tools,
        }
    }

    /// A world that begins with these files.
    pub(super) fn from_image(image: &Path) -> Self {
        let world = Self::new();
        copy(image, &world.path());
        world
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(format!("madang-{}.db", self.crashes.load(Relaxed)))
    }

    /// The process ends here.
    pub(super) fn crash(&self, life: Life) {
        let before = self.path();
        self.crashes.fetch_add(1, Relaxed);
        copy(&before, &self.path());
        life.end();
    }

    /// A life whose model is driven by hand.
    pub(super) fn start(&self) -> Life {
        let (model, script) = model_pair();
        Life { script, ..self.start_with(model, |store| store) }
    }

    /// A life with this model, and a store around the one of the database.
    pub(super) fn start_with<S: Store>(
        &self,
        model: impl ChatModel,
        around: impl FnOnce(SqliteStore) -> S,
    ) -> Life {
        self.start_as(|builder| builder.model(model), around)
    }

    /// A life without a model.
    pub(super) fn start_without_model(&self) -> Life {
        self.start_as(|builder| builder, |store| store)
    }

    fn start_as<S: Store>(
        &self,
        with_model: impl FnOnce(Builder) -> Builder,
        around: impl FnOnce(SqliteStore) -> S,
    ) -> Life {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let threads = threads.worker_threads(2).enable_all().build().unwrap();
        let gate = Arc::new(Gate {
            begun: Semaphore::new(0),
            open: Semaphore::new(0),
            log: self.begun.clone(),
        });
        let (runtime, store) = threads.block_on(async {
            let options = SqliteStore::open(self.path()).migrations("notes", &NOTES);
            let store = options.await.expect("the process before has let go of its lock");
            let builder = with_model(Runtime::builder())
                .store(around(store.clone()))
                .tools((self.tools)())
                .limits(self.limits.clone())
                .clock(Later(self.later))
                .language(LanguageTag::EN)
                .extension(gate.clone());
            let builder =
                if self.has_temporary_chats { builder.temporary_chats() } else { builder };
            let runtime = builder.start().await.unwrap();
            (runtime, store)
        });
        // Its hand is never asked.
        let (_, script) = model_pair();
        Life { threads, runtime, store, script, gate, held: Vec::new() }
    }

    /// How often a handler of this tool began.
    pub(super) fn begun(&self, tool: &str) -> usize {
        self.begun.lock().unwrap().iter().filter(|(name, _)| name == tool).count()
    }

    /// The calls whose rows are in the embedder's table, read beside their writer.
    pub(super) fn notes(&self) -> Vec<String> {
        use sqlx::ConnectOptions;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.path());
        let read = async move {
            let mut db = options.connect().await.unwrap();
            let calls = sqlx::query_scalar("SELECT call FROM notes ORDER BY id");
            calls.fetch_all(&mut db).await.unwrap()
        };
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::thread::spawn(move || threads.block_on(read)).join().unwrap()
    }
}

impl Life {
    /// Lets this happen, within a test's patience.
    pub(super) fn run<T>(&mut self, happens: impl AsyncFnOnce(&mut Self) -> T) -> T {
        let threads = self.threads.handle().clone();
        threads.block_on(async {
            tokio::time::timeout(PATIENCE, happens(self)).await.expect("it happens in time")
        })
    }

    /// Its threads end in the middle of whatever they do, without an orderly end.
    pub(super) fn end(self) {
        let Self { threads, runtime, store, script, gate, held } = self;
        threads.shutdown_timeout(PATIENCE);
        drop((runtime, store, script, gate, held));
    }

    /// The process ends in order.
    pub(super) fn shut_down(mut self) {
        self.run(async |life| life.runtime.shutdown().await.unwrap());
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
        self.end();
    }

    pub(super) async fn session(&self) -> (Session, Probe) {
        let session = self.runtime.user("kim").unwrap().session("s").await.unwrap();
        let probe = Probe::new(session.subscribe());
        (session, probe)
    }

    /// The ledger, in order.
    pub(super) async fn ledger(&self) -> Vec<LedgerRow> {
        self.runtime.ledger(&LedgerFilter::default()).await.unwrap()
    }

    /// Waits until the store says this of the ledger.
    pub(super) async fn until_ledger(&self, is_true: impl Fn(&[LedgerRow]) -> bool) {
        while !is_true(&self.ledger().await) {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the dismissal of the open turn is stored.
    pub(super) async fn until_dismissed(&self) {
        let session = SessionId::new("s").unwrap();
        loop {
            let stored = self.store.session(&session).await.unwrap().unwrap();
            if stored.open_turn.is_some_and(|open| open.is_dismissed) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The model asks for these tools.
    pub(super) async fn model_calls(&mut self, text: &str, names: &[&str]) {
        let call = |name: &&str| wanted(name, &json!({}));
        self.script.next().await.finish(Completion {
            text: text.to_owned(),
            tool_calls: names.iter().map(call).collect(),
            ..Completion::default()
        });
    }

    /// The model is asked and does not come to its end in this life.
    pub(super) async fn unfinished(&mut self) -> &HandCompletion {
        self.held.push(self.script.next().await);
        self.held.last().unwrap()
    }

    /// The model says this, and the turn ends with it.
    pub(super) async fn model_says(&mut self, text: &str, probe: &mut Probe) {
        self.script.next().await.say(text);
        probe.until_turns_ended(1).await;
    }
}

impl Gate {
    /// Waits until this many handlers have begun.
    pub(super) async fn begun(&self, count: u32) {
        self.begun.acquire_many(count).await.unwrap().forget();
    }

    pub(super) fn open(&self) {
        self.open.add_permits(1);
    }

    async fn pass(&self) {
        self.begun.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// A turn in which a person can be asked.
pub(super) async fn ask(session: &Session, text: &str) -> Turn {
    let options = TurnOptions { language: Some(LanguageTag::EN), ..TurnOptions::default() };
    session.send_with(text.to_owned(), options).await.unwrap()
}

/// What the model reads, an entry a line.
pub(super) fn read(request: &CompletionRequest) -> String {
    let line = |message: &PromptMessage| match message {
        PromptMessage::User { text } => format!("user: {text}"),
        PromptMessage::Model { text } => format!("model: {text}"),
        PromptMessage::ToolCall { name, envelope, .. } => format!("{name}: {envelope}"),
    };
    request.messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The ledger without ids and times: tool, state, effect and the calls' number for each id.
pub(super) fn effects(rows: &[LedgerRow]) -> BTreeMap<String, Option<Effect>> {
    rows.iter().map(|row| (row.name.to_string(), row.effect)).collect()
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `note` and `slow_note` write in the transaction, `save` and `slow_save` the same after a
/// question; `mail` and `slow_mail` write elsewhere; `look` and `slow_look` read.
pub(super) fn tools() -> Vec<Arc<dyn tool::Tool>> {
    let write = |tool: TypedTool<Nothing>| tool.effect(EffectPolicy::Write);
    let stored = |name| tool::with(Named(name)).transactional(name, "Writes a row.", Named::note);
    let plain = |name| tool::with(Named(name)).plain(name, "Acts elsewhere.", Named::elsewhere);
    vec![
        Arc::new(write(stored("note"))),
        Arc::new(write(stored("slow_note"))),
        Arc::new(stored("save")),
        Arc::new(stored("slow_save")),
        Arc::new(write(plain("mail"))),
        Arc::new(write(plain("slow_mail"))),
        Arc::new(plain("burn")),
        Arc::new(plain("look").effect(EffectPolicy::Read)),
        Arc::new(plain("slow_look").effect(EffectPolicy::Read)),
    ]
}

/// `slow_mail`, but asking.
pub(super) fn slow_destructive_mail() -> impl tool::Tool {
    tool::with(Named("slow_mail")).plain("slow_mail", "Acts elsewhere.", Named::elsewhere)
}

/// `save`, which says of itself that it takes other arguments.
pub(super) fn changed_save() -> impl tool::Tool {
    #[derive(Deserialize, JsonSchema)]
    struct Changed {
        _name: Option<String>,
    }
    async fn save(_: Changed, _: &mut SqliteConnection, _: &ToolContext) -> ToolResult<Value> {
        panic!("what would run is not what was shown")
    }
    tool::transactional("save", "Writes a row.", save)
}

/// `slow_send`, which asks, runs once at a time, and logs its receivers.
pub(super) fn slow_send() -> impl tool::Tool {
    #[derive(Deserialize, JsonSchema)]
    struct Letter {
        to: String,
    }
    async fn send(letter: Letter, ctx: &ToolContext) -> ToolResult<Value> {
        let gate = ctx.extension::<Arc<Gate>>().expect("every life has a gate");
        gate.log.lock().unwrap().push((letter.to, ctx.call));
        gate.pass().await;
        Ok(json!({ "done": true }))
    }
    tool::plain("slow_send", "Sends a letter.", send).max_concurrent(1)
}

/// A handler that knows its tool's name.
struct Named(&'static str);

impl Named {
    async fn note(
        &self,
        _: Nothing,
        db: &mut SqliteConnection,
        ctx: &ToolContext,
    ) -> ToolResult<Value> {
        sqlx::query("INSERT INTO notes (call) VALUES ($1)")
            .bind(ctx.call.to_string())
            .execute(db)
            .await?;
        self.begins(ctx).await;
        Ok(json!({ "done": true }))
    }

    async fn elsewhere(&self, _: Nothing, ctx: &ToolContext) -> ToolResult<Value> {
        self.begins(ctx).await;
        Ok(json!({ "done": true }))
    }

    async fn begins(&self, ctx: &ToolContext) {
        let gate = ctx.extension::<Arc<Gate>>().expect("every life has a gate");
        gate.log.lock().unwrap().push((self.0.to_owned(), ctx.call));
        if self.0.starts_with("slow") {
            gate.pass().await;
        }
    }
}
