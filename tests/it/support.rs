//! What the promises share: a runtime on the memory store, and tools that do what a test needs.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{
    Call, CallReport, Error, LanguageTag, Limits, Runtime, UserId,
    approval::Approver,
    model::ChatModel,
    tool::{
        self, EffectPolicy, Locale, Tool, ToolContext, ToolFault, ToolOutcome, ToolResult,
        ToolSpec, WantedCall,
    },
};
use madang_testing::{
    MemoryConnection, MemoryStore, RuntimeHooks as _, ScriptedCompletion, ScriptedModel, end_name,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Begins a call and waits for its end.
pub(crate) async fn dispatched(runtime: &Runtime, call: Call) -> Result<CallReport, Error> {
    Ok(runtime.begin(call).await?.ended().await)
}

/// A runtime on the memory store, with its store and the gate of its slow tools.
pub(crate) struct TestRuntime {
    pub(crate) runtime: Runtime,
    pub(crate) store: MemoryStore,
    pub(crate) gate: Arc<Gate>,
}

/// Holds handlers until a test lets them go.
pub(crate) struct Gate {
    begun: Semaphore,
    open: Semaphore,
}

impl Gate {
    /// Waits until this many handlers have begun.
    pub(crate) async fn begun(&self, count: u32) {
        let begun = tokio::time::timeout(PATIENCE, self.begun.acquire_many(count)).await;
        begun.expect("a handler begins in time").unwrap().forget();
    }

    /// Lets this many handlers go.
    pub(crate) fn open(&self, count: usize) {
        self.open.add_permits(count);
    }

    async fn pass(&self) {
        self.begun.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

impl TestRuntime {
    pub(crate) async fn new(model: impl ChatModel) -> Self {
        // Handlers at the gate hold the writer's transaction for as long as the test wants.
        let limits = Limits { transaction_deadline: PATIENCE, ..Limits::default() };
        Self::with_limits(model, limits).await
    }

    pub(crate) async fn with_limits(model: impl ChatModel, limits: Limits) -> Self {
        let (store, gate) = (
            MemoryStore::new(),
            Arc::new(Gate { begun: Semaphore::new(0), open: Semaphore::new(0) }),
        );
        let runtime = Runtime::builder()
            .language(LanguageTag::KO)
            .model(model)
            .store(store.clone())
            .tools(tools())
            .limits(limits)
            .extension(gate.clone())
            .extension(Arc::new(Mutex::new(0_u32)))
            .start()
            .await
            .unwrap();
        Self { runtime, store, gate }
    }

    /// A runtime whose model is never asked.
    pub(crate) async fn without_model() -> Self {
        Self::new(ScriptedModel::new([])).await
    }

    /// One call without a model, by Kim.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: &Value,
        confirm: Approver,
    ) -> CallReport {
        self.call_raw(name, &arguments.to_string(), confirm).await
    }

    pub(crate) async fn call_raw(
        &self,
        name: &str,
        arguments: &str,
        confirm: Approver,
    ) -> CallReport {
        let call = Call::new(kim(), name, arguments).approver(confirm);
        tokio::time::timeout(PATIENCE, dispatched(&self.runtime, call))
            .await
            .expect("dispatch ends")
            .unwrap()
    }

    /// What the tools have written.
    pub(crate) fn rows(&self) -> BTreeMap<String, Value> {
        self.store.connection().values()
    }

    /// Waits until so many jobs wait for the store's writer.
    pub(crate) async fn waiting(&self, jobs: usize) {
        let there = async {
            while self.runtime.actors().store.waiting().await.unwrap() < jobs {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, there).await.expect("they come in time");
    }

    /// Ends the runtime and checks that nothing is left running.
    pub(crate) async fn shutdown(self) {
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
    }
}

pub(crate) fn kim() -> UserId {
    UserId::new("kim").unwrap()
}

/// A model that asks for one tool and then says this.
pub(crate) fn call_then_say(name: &str, arguments: &Value, text: &str) -> ScriptedModel {
    ScriptedModel::new([ScriptedCompletion::call(name, arguments), ScriptedCompletion::text(text)])
}

pub(crate) fn wanted(name: &str, arguments: &Value) -> WantedCall {
    WantedCall::new(name, arguments.to_string())
}

/// Names the end of a call.
pub(crate) fn kind(report: &CallReport) -> String {
    end_name(report.outcome()).to_owned()
}

/// The data of a success.
pub(crate) fn data(outcome: &ToolOutcome) -> &Value {
    let ToolOutcome::Ok(ok) = outcome else { panic!("no success: {outcome:?}") };
    &ok.data
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    /// The name of the row.
    #[schemars(length(min = 1, max = 50))]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// The tools of the test runtime. `save` asks unless the name begins with `quiet`; `note` never
/// asks.
fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(tool::reading("search", "Lists the rows.", search)),
        Arc::new(
            tool::transactional("save", "Saves a row.", save)
                .asks(|named: &Named| !named.name.starts_with("quiet"))
                .consequence(|named: &Named, locale: Locale| {
                    format!("{}: {}", locale.pick("저장합니다", "Saves"), named.name)
                }),
        ),
        Arc::new(tool::transactional("note", "Writes a row.", save).effect(EffectPolicy::Write)),
        Arc::new(
            tool::transactional("slow_note", "Writes a row, slowly.", slow_note)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("half_note", "Writes a row and fails.", half_note)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("panic_note", "Writes a row and panics.", panic_note)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::transactional("rule_note", "Writes a row and finds a rule broken.", rule_note)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::plain("slow_mail", "Sends a mail, slowly.", slow_mail)
                .effect(EffectPolicy::Write)
                .timeout(Duration::from_millis(100)),
        ),
        Arc::new(tool::plain("slow_read", "Reads, slowly.", slow_mail).effect(EffectPolicy::Read)),
        Arc::new(tool::plain("fail", "Fails.", fail).effect(EffectPolicy::Read)),
        Arc::new(
            tool::plain("fail_named", "Fails with a type.", fail_named).effect(EffectPolicy::Read),
        ),
        Arc::new(
            tool::plain("panic_text", "Panics with a text.", panic_text).effect(EffectPolicy::Read),
        ),
        Arc::new(
            tool::plain("panic_mail", "Panics after a mail was sent.", panic_text)
                .effect(EffectPolicy::Write),
        ),
        Arc::new(
            tool::plain("panic_custom", "Panics with a custom payload.", panic_custom)
                .effect(EffectPolicy::Read),
        ),
        Arc::new(
            tool::plain("panic_in_drop", "Panics with a payload that panics.", panic_in_drop)
                .effect(EffectPolicy::Read),
        ),
        Arc::new(
            tool::plain("panic_locked", "Panics while it holds a lock.", panic_locked)
                .effect(EffectPolicy::Read),
        ),
        Arc::new(tool::from_schema(
            ToolSpec::new("stop", "Ends the turn.", json!({ "type": "object" }))
                .effect(EffectPolicy::Read),
            async |_: Value, _: ToolContext| {
                Ok(ToolOutcome::ok(json!("stopped")).with_metadata("stop_loop", json!(true)))
            },
        )),
        Arc::new(tool::from_schema(
            ToolSpec::new(
                "strict",
                "Knows its arguments.",
                json!({
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "additionalProperties": false,
                }),
            )
            .effect(EffectPolicy::Read),
            async |arguments: Value, _: ToolContext| Ok(ToolOutcome::ok(arguments)),
        )),
        Arc::new(tool::from_schema(
            ToolSpec::new(
                "echo",
                "Gives its arguments.",
                json!({
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                }),
            )
            .effect(EffectPolicy::Read),
            async |arguments: Value, _: ToolContext| Ok(ToolOutcome::ok(arguments)),
        )),
    ]
}

async fn search(_: Nothing, db: &mut MemoryConnection, _: &ToolContext) -> ToolResult<Value> {
    let names: Vec<String> = db.values().into_keys().collect();
    Ok(json!({ "count": names.len(), "items": names }))
}

async fn save(named: Named, db: &mut MemoryConnection, ctx: &ToolContext) -> ToolResult<Value> {
    db.put(named.name.clone(), json!(ctx.user.as_str()))?;
    Ok(json!({ "saved": named.name }))
}

async fn slow_note(
    named: Named,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    gate(ctx).pass().await;
    save(named, db, ctx).await
}

async fn half_note(
    named: Named,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    save(named, db, ctx).await?;
    Err(io::Error::other("a secret that nobody is told").into())
}

async fn rule_note(
    named: Named,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    save(named, db, ctx).await?;
    Err(ToolFault::rule("r3_quota", "이미 세 개입니다."))
}

async fn panic_note(
    named: Named,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    save(named, db, ctx).await?;
    panic!("after the write")
}

async fn slow_mail(_: Nothing, ctx: &ToolContext) -> ToolResult<Value> {
    gate(ctx).pass().await;
    Ok(json!({ "sent": true }))
}

async fn fail(_: Nothing, _: &ToolContext) -> ToolResult<Value> {
    Err(io::Error::other("a secret that nobody is told").into())
}

async fn fail_named(_: Nothing, _: &ToolContext) -> ToolResult<Value> {
    Err(ToolFault::unexpected(tool::Fault::named("Offline"), io::Error::other("a secret")))
}

async fn panic_text(_: Nothing, _: &ToolContext) -> ToolResult<Value> {
    panic!("a secret that nobody is told")
}

async fn panic_custom(_: Nothing, _: &ToolContext) -> ToolResult<Value> {
    std::panic::panic_any(42_u8)
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload panics too")
    }
}

async fn panic_in_drop(_: Nothing, _: &ToolContext) -> ToolResult<Value> {
    std::panic::panic_any(Bomb)
}

async fn panic_locked(_: Nothing, ctx: &ToolContext) -> ToolResult<Value> {
    let lock = ctx.extension::<Arc<Mutex<u32>>>().expect("every test runtime has the lock");
    let _held = lock.lock();
    panic!("holding a lock")
}

fn gate(ctx: &ToolContext) -> &Gate {
    ctx.extension::<Arc<Gate>>().expect("every test runtime has a gate")
}
