//! Sends a call through dispatch: one outcome, in time, on which ledger, tool and caller agree.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    Call, CallReport, Runtime, UserId,
    approval::{Approver, Decision},
    ledger::{Effect, LedgerFilter},
    tool::{self, EffectPolicy, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec},
};
use madang_testing::{MemoryConnection, MemoryStore, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The time after which a call hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// The calls after which the runtime and its ledger in memory start anew.
const CALLS: u32 = 2_000;

/// Reads the first line as `TOOL DECISION`, `y`, `n` or `-`, and the rest as the raw arguments.
pub(super) fn run(bytes: &[u8]) -> String {
    thread_local! {
        static RUNTIME: RefCell<Option<TestRuntime>> = const { RefCell::new(None) };
    }
    let text = String::from_utf8_lossy(bytes);
    let (head, arguments) = text.split_once('\n').unwrap_or((&text, ""));
    let (tool, decision) = head.split_once(' ').unwrap_or((head, "-"));
    RUNTIME.with_borrow_mut(|runtime| {
        if runtime.as_ref().is_none_or(|runtime| runtime.calls >= CALLS) {
            *runtime = Some(TestRuntime::new());
        }
        runtime.as_mut().expect("it was just made").call(tool, decision, arguments)
    })
}

struct TestRuntime {
    clock: tokio::runtime::Runtime,
    runtime: Runtime,
    store: MemoryStore,
    runs: Runs,
    calls: u32,
}

/// The number of handlers that began.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicU64>);

impl TestRuntime {
    fn new() -> Self {
        let clock = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let clock = clock.expect("a runtime of one thread");
        let store = MemoryStore::new();
        let runs = Runs::default();
        let runtime = Runtime::builder()
            .model(ScriptedModel::new([]))
            .store(store.clone())
            .tools(tools())
            .extension(runs.clone());
        let runtime = clock.block_on(runtime.start()).expect("these tools fit this store");
        Self { clock, runtime, store, runs, calls: 0 }
    }

    fn call(&mut self, name: &str, decision: &str, arguments: &str) -> String {
        self.calls += 1;
        let confirm = match decision {
            "y" => Approver::Decided(Decision::Approve),
            "n" => Approver::Decided(Decision::Deny),
            _ => Approver::None,
        };
        let approves = decision == "y";
        let user = UserId::new("kim").expect("a short name");
        let before = self.store.connection().values().len();
        let report = self.clock.block_on(async {
            let call = Call::new(user, name, arguments).approver(confirm);
            let running = self.runtime.begin(call).await.expect("the runtime is open");
            let ended = tokio::time::timeout(PATIENCE, running.ended()).await;
            ended.expect("every call ends")
        });
        let written = self.store.connection().values().len() - before;
        let outcome = report.outcome().expect("no turn was dismissed");
        self.agrees_with_ledger(&report, arguments);
        self.agrees_with_handler(name, approves, &report, outcome, written);
        let envelope: Value = serde_json::from_str(&report.envelope).expect("an envelope is JSON");
        if outcome.is_ok() {
            assert!(report.envelope.len() <= 2_048, "{}", report.envelope.len());
        }
        let word = outcome.code().unwrap_or(if outcome.is_ok() { "ok" } else { "cancelled" });
        let tool = self.runtime.registry().get(name).map_or("-", |_| name);
        // The number and the kind of problems count as different paths.
        let reason = envelope["reason"].as_str().unwrap_or_default();
        let problems: String =
            reason.chars().filter(|letter| matches!(letter, ':' | ';' | '.')).take(6).collect();
        format!("{tool} {decision:.1} {word} {problems}")
    }

    fn agrees_with_ledger(&self, report: &CallReport, arguments: &str) {
        let filter = LedgerFilter::default().in_session(&report.session);
        let rows = self.clock.block_on(self.runtime.ledger(&filter)).expect("memory can be read");
        let [row] = &*rows else { panic!("one call, not {}", rows.len()) };
        assert_eq!(*row.raw_arguments, *arguments, "the raw text is kept");
        assert_eq!(row.outcome.as_ref(), report.outcome());
        assert_eq!(row.effect, Some(report.record.effect));
    }

    fn agrees_with_handler(
        &self,
        name: &str,
        approves: bool,
        report: &CallReport,
        outcome: &ToolOutcome,
        written: usize,
    ) {
        let runs = self.runs.0.swap(0, SeqCst);
        let Ok(tool) = self.runtime.registry().get(name) else {
            assert_eq!((outcome.code(), runs), (Some("unknown_tool"), 0));
            return;
        };
        let took_effect = report.record.effect == Effect::Committed;
        match outcome {
            ToolOutcome::Ok(ok) => {
                assert_eq!(runs, 1, "it ran once");
                let ran = &report.record.arguments;
                if LITERAL.contains(&name) {
                    assert_eq!(ok.data, **ran, "the report has the arguments that ran");
                }
                let checked = tool.validate(Value::clone(ran)).expect("what ran is valid");
                assert_eq!(checked.arguments, **ran, "and without unknown keys");
                let asks = name == "asks" && tool.tool().asks(ran);
                assert!(approves || !asks, "a person approved");
                assert_eq!(took_effect, tool.spec().effect != EffectPolicy::Read);
                assert_eq!(written, usize::from(took_effect), "one row, if it writes");
            }
            ToolOutcome::Err(error) => {
                assert_eq!(error.code, "validation", "{}", error.reason);
                assert!(error.reason.len() < 1_200, "{}", error.reason.len());
                assert_eq!((runs, written, took_effect), (0, 0, false));
            }
            ToolOutcome::Cancelled(_) => {
                assert!(name == "asks" && !approves);
                assert_eq!((runs, written, took_effect), (0, 0, false));
            }
        }
    }
}

/// Tools whose handlers give their arguments as they receive them.
const LITERAL: [&str; 3] = ["free", "strict", "choice"];

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Sleep,
    Movement,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    /// A number of a small range.
    #[schemars(range(min = -10, max = 10))]
    level: i8,
    /// More of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Box<Self>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Typed {
    /// The name of the row.
    #[schemars(length(min = 1, max = 20))]
    name: String,
    /// A choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// Short words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4), inner(regex(pattern = r"^[a-z가-힣]{1,8}$")))]
    tags: Vec<String>,
    /// Nested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Inner>,
    /// A day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    date: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Named {
    /// The name of the row.
    name: String,
}

/// Makes tools of every kind of schema and effect. Each returns its arguments.
fn tools() -> Vec<Arc<dyn Tool>> {
    let literal = |name: &str, parameters: Value| {
        let spec =
            ToolSpec::new(name, "Gives its arguments.", parameters).effect(EffectPolicy::Read);
        tool::from_schema(spec, async |arguments: Value, ctx: ToolContext| {
            begins(&ctx);
            Ok(ToolOutcome::ok(arguments))
        })
    };
    vec![
        Arc::new(literal("free", json!({ "type": "object" }))),
        Arc::new(literal(
            "strict",
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "maxLength": 8 },
                    "number": { "type": "number", "multipleOf": 0.5 },
                    "list": { "type": "array", "items": { "type": ["integer", "null"] }, "uniqueItems": true },
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
        )),
        Arc::new(literal(
            "choice",
            json!({
                "type": "object",
                "properties": {
                    "it": { "anyOf": [
                        { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
                        { "type": "object", "properties": { "b": { "oneOf": [{ "type": "integer" }, { "const": "b" }] } } },
                        { "type": "array", "items": { "not": { "type": "boolean" } }, "maxItems": 3 },
                    ] },
                },
            }),
        )),
        Arc::new(tool::plain("typed", "Gives its arguments.", typed).effect(EffectPolicy::Read)),
        Arc::new(tool::transactional("save", "Writes a row.", save).effect(EffectPolicy::Write)),
        Arc::new(
            tool::transactional("asks", "Writes a row, or asks.", save)
                .asks(|named: &Named| !named.name.starts_with("quiet")),
        ),
    ]
}

fn begins(ctx: &ToolContext) {
    let Runs(runs) = ctx.extension().expect("the test runtime put it in");
    runs.fetch_add(1, SeqCst);
}

async fn typed(arguments: Typed, ctx: &ToolContext) -> ToolResult<Typed> {
    begins(ctx);
    Ok(arguments)
}

async fn save(named: Named, db: &mut MemoryConnection, ctx: &ToolContext) -> ToolResult<Value> {
    begins(ctx);
    db.put(ctx.call.to_string(), json!(named.name))?;
    Ok(json!({ "saved": named.name }))
}
