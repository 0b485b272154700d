//! Nothing that must be confirmed runs unasked, twice, late or changed, and each reader is told the
//! same about it.
//!
//! `Gate` is a runtime with tools that ask, a model that the test drives by hand, and one session
//! of Kim's. Its end checks the invariant from the ledger alone (`check_ledger`).
//!
//! - `answers` tests the five answers, and which one wins where several come.
//! - `ends` tests that five ends of a call stay apart.
//! - `standing` tests "always": what it covers, how long, and that it is recorded.

mod answers;
mod ends;
mod standing;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use madang::{
    Clock, LanguageTag, Limits, Runtime, Session, SystemClock, Timestamp, Turn, TurnOptions,
    approval::{ApprovalEnd, ApprovalRequest},
    event::{Content, EventKind},
    ledger::{LedgerFilter, LedgerRow},
    model::{Completion, PromptMessage},
    tool::{self, Locale, Resource, ToolContext, ToolOutcome, ToolResult},
};
use madang_testing::{
    HandCompletion, HandScript, MemoryConnection, MemoryStore, Probe, RuntimeHooks as _, model_pair,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::wanted;

/// A clock that is put forward by hand.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<AtomicI64>);

impl Watch {
    fn forward(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Relaxed);
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(SystemClock.now().millis() + self.0.load(Relaxed))
    }
}

/// A runtime with tools that ask, a model driven by hand, and one session of Kim's.
struct Gate {
    runtime: Runtime,
    store: MemoryStore,
    watch: Watch,
    session: Session,
    script: HandScript,
    probe: Probe,
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    #[schemars(length(min = 1, max = 50))]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct NamedAndSigned {
    #[schemars(length(min = 1, max = 50))]
    name: String,
    signed: Option<String>,
}

async fn save(named: Named, db: &mut MemoryConnection, _: &ToolContext) -> ToolResult<Value> {
    db.put(named.name.clone(), json!("saved"))?;
    Ok(json!({ "saved": named.name }))
}

/// The row that is named, unless nothing is.
fn the_row(named: &Named, _: &ToolContext) -> Option<Resource> {
    (named.name != "nothing").then(|| Resource::new(format!("row {}", named.name)))
}

async fn save_signed(
    named: NamedAndSigned,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    drop(named.signed);
    save(Named { name: named.name }, db, ctx).await
}

/// Whether `save` has the schema that it has today or the one of tomorrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

impl Gate {
    async fn new() -> Self {
        Self::with(Limits::default(), MemoryStore::new(), Version::First).await
    }

    async fn with(limits: Limits, store: MemoryStore, version: Version) -> Self {
        let ((model, script), watch) = (model_pair(), Watch::default());
        let says = |named: &Named, locale: Locale| {
            format!("{}: {}", locale.pick("저장합니다", "Saves"), named.name)
        };
        let builder = Runtime::builder()
            .model(model)
            .store(store.clone())
            .limits(limits)
            .clock(watch.clone())
            .language(LanguageTag::EN)
            .tool(tool::transactional("erase", "Erases a row.", save))
            .tool(tool::transactional("sign", "Signs a row.", save).resource(the_row));
        let builder = match version {
            Version::First => {
                builder.tool(tool::transactional("save", "Saves a row.", save).consequence(says))
            }
            Version::Second => {
                builder.tool(tool::transactional("save", "Saves a row.", save_signed))
            }
        };
        let runtime = builder.start().await.unwrap();
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        let probe = Probe::new(session.subscribe());
        Self { runtime, store, watch, session, script, probe }
    }

    /// Begins a turn in which the model asks for these tools.
    async fn turn(&mut self, calls: &[(&str, Value)]) -> Turn {
        let turn = self.session.send("go").await.unwrap();
        self.model_calls(calls).await;
        turn
    }

    async fn turn_with(&mut self, options: TurnOptions, calls: &[(&str, Value)]) -> Turn {
        let turn = self.session.send_with("go", options).await.unwrap();
        self.model_calls(calls).await;
        turn
    }

    async fn model_calls(&mut self, calls: &[(&str, Value)]) {
        let tool_calls = calls.iter().map(|(name, arguments)| wanted(name, arguments)).collect();
        let wanted = Completion { tool_calls, ..Completion::default() };
        // A turn that was dismissed may have asked the model once more.
        let mut completion = self.script.next().await;
        while completion.is_cancelled() {
            completion = self.script.next().await;
        }
        completion.finish(wanted);
    }

    /// The question about the call that the model asked for last.
    async fn approval_request(&mut self) -> ApprovalRequest {
        self.probe.approval_request().await
    }

    /// Ends the turn and gives what the model was told of the last call: its own arguments, and the
    /// envelope.
    async fn told(&mut self, turn: Turn) -> (Value, Value) {
        let told = last_call(&self.script.next().await_and_say("Well.").await);
        turn.ended().await.unwrap();
        told
    }

    async fn rows(&self) -> Vec<LedgerRow> {
        self.runtime.ledger(&LedgerFilter::default()).await.unwrap()
    }

    async fn row(&self) -> LedgerRow {
        self.rows().await.pop().unwrap()
    }

    /// The last call as the transcript has it.
    async fn entry(&self) -> madang::ledger::CallRecord {
        let messages = self.session.state().await.unwrap().messages;
        let calls = messages.into_iter().filter_map(|message| match message.content {
            Content::ToolCall(record) => Some(*record),
            Content::User { .. }
            | Content::Model { .. }
            | Content::Notice { .. }
            | Content::Cleared => None,
        });
        calls.last().unwrap()
    }

    /// What the tools have written.
    fn saved(&self) -> Vec<String> {
        self.store.connection().values().into_keys().collect()
    }

    /// Ends the runtime. What the ledger has must then be true whatever happened: see
    /// [`check_ledger`].
    async fn shutdown(self) -> MemoryStore {
        check_ledger(&self.runtime).await;
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
        self.store
    }
}

/// How the last question that this probe has heard of ended.
fn question_end(probe: &Probe) -> Option<ApprovalEnd> {
    probe.events().iter().rev().find_map(|event| {
        let EventKind::ApprovalEnded { end, .. } = &event.kind else { return None };
        Some(end.clone())
    })
}

/// Reads the model's request and lets it say this.
trait AwaitAndSay {
    async fn await_and_say(self, text: &str) -> Arc<Vec<PromptMessage>>;
}

impl<F: Future<Output = HandCompletion>> AwaitAndSay for F {
    async fn await_and_say(self, text: &str) -> Arc<Vec<PromptMessage>> {
        let completion = self.await;
        let messages = completion.request().messages.clone();
        completion.say(text);
        messages
    }
}

fn last_call(messages: &[PromptMessage]) -> (Value, Value) {
    let mut calls = messages.iter().filter_map(|message| match message {
        PromptMessage::ToolCall { arguments, envelope, .. } => Some((arguments, envelope)),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    });
    let (arguments, envelope) = calls.next_back().unwrap();
    (serde_json::from_str(arguments).unwrap(), serde_json::from_str(envelope).unwrap())
}

/// Checks the invariant from the ledger alone. Both tools must be confirmed, so the session's user
/// approved each call that ran: before, in time, with exactly these arguments, and once.
async fn check_ledger(runtime: &Runtime) {
    for row in runtime.ledger(&LedgerFilter::default()).await.unwrap() {
        let ran = matches!(row.outcome, Some(ToolOutcome::Ok(_)));
        if ran {
            assert_eq!(row.decided_by.as_ref(), Some(&row.user), "{row:?}");
            assert!(row.approval.is_some() && row.approved_at < row.expires_at, "{row:?}");
        }
    }
}

fn named(name: &str) -> Value {
    json!({ "name": name })
}
