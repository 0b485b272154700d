//! A world in which anything may happen at the same time: random asks, dismissals, answers, kills,
//! and faults of the store.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::oneshot, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    port::{
        Access, BoxFuture, ChatModel, ConnectionType, Deltas, ModelError, ModelInfo, Need,
        Prepared, Tool, ToolContext, ToolFault, ToolResult,
    },
    protocol::{
        CallId, Completion, CompletionRequest, Decision, DecisionError, EffectPolicy, EventKind,
        Limits, ToolOutcome, ToolSpec, WantedCall,
    },
    session::{Error, SessionRequest, SessionSlot, StreamItem, TurnEnd},
    test_runtime::{TestRuntime, in_time},
    testing::MemoryConnection,
};

/// The worlds that each test goes through where `MADANG_WORLDS` asks for no more.
const WORLDS: u64 = 8;

/// Gives a seed for each world of this run: the same ones each time, or with `MADANG_WORLDS` so
/// many from `PROPTEST_RNG_SEED` on.
pub(super) fn seeds() -> Range<u64> {
    let number = |name| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let Some(count) = number("MADANG_WORLDS") else { return 0..WORLDS };
    let first = number("PROPTEST_RNG_SEED").unwrap_or_default() << 16;
    first..first + count
}

/// Numbers that look random and are the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(Arc<Mutex<u64>>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)))
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) % bound
    }
}

/// A model that speaks, calls or fails as the dice fall.
#[derive(Debug)]
struct Wild(Dice);

impl ChatModel for Wild {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "wild".into(), has_parallel_calls: true, max_concurrent: 4 }
    }

    fn complete(
        &self,
        _: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            deltas.text("Let me");
            tokio::select! {
                () = sleep(Duration::from_micros(self.0.below(300))) => {}
                () = cancel.cancelled() => {
                    return Err(ModelError::Cancelled { usage: Default::default() });
                }
            }
            let text = ["", "Let me see."][self.0.below(2) as usize].to_owned();
            let calls = match self.0.below(8) {
                0 => return Err(ModelError::failed("Offline")),
                1 | 2 => 0,
                calls => calls / 2,
            };
            let call = |_| {
                let name = ["look", "save", "erase", "mail", "gone"][self.0.below(5) as usize];
                let end = ["ok", "ok", "rule", "panic"][self.0.below(4) as usize];
                let arguments = json!({ "end": end, "micros": self.0.below(4_000) });
                WantedCall::new(name, arguments.to_string())
            };
            let tool_calls = (0..calls).map(call).collect();
            Ok(Completion { text, tool_calls, ..Completion::default() })
        })
    }
}

/// A tool that counts how often it acted for each call: in the store's transaction, or beside it.
#[derive(Debug)]
struct CountingTool {
    spec: ToolSpec,
    is_transactional: bool,
    acts: ActCounts,
}

pub(super) type ActCounts = Arc<Mutex<BTreeMap<CallId, u32>>>;

impl CountingTool {
    fn new(name: &str, effect: EffectPolicy, is_transactional: bool, acts: &ActCounts) -> Self {
        let spec = ToolSpec::new(name, "Counts how often it acts.", json!({ "type": "object" }))
            .effect(effect)
            .timeout(Duration::from_millis(2));
        Self { spec, is_transactional, acts: acts.clone() }
    }
}

impl Tool for CountingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        let memory = ConnectionType::of::<MemoryConnection>();
        self.is_transactional.then_some(Need::Transaction(memory))
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            if let Access::Transaction(connection) = access {
                let db = connection.downcast_mut::<MemoryConnection>().expect("the memory store's");
                let times = db.get(&ctx.call.to_string()).and_then(|times| times.as_u64());
                db.put(ctx.call.to_string(), json!(times.unwrap_or(0) + 1))?;
            } else if arguments["end"] == "rule" {
                return Err(ToolFault::rule("no", "not done"));
            } else if self.spec.effect != EffectPolicy::Read {
                *self.acts.lock().unwrap().entry(ctx.call).or_default() += 1;
            }
            sleep(Duration::from_micros(arguments["micros"].as_u64().unwrap_or(0))).await;
            match arguments["end"].as_str() {
                Some("rule") => Err(ToolFault::rule("no", "not done")),
                Some("panic") => panic!("on purpose"),
                _ => Ok(ToolOutcome::ok(json!({}))),
            }
        })
    }
}

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Ask,
    Dismiss,
    Wait,
    KillSession,
    KillConfirm,
    KillDispatcher,
    KillStoreActor,
    /// The next transaction does not begin.
    FailBegin,
    /// The next commit happens, and its reply is lost.
    LoseReply,
}

/// What may happen in a world, each as likely as the others; what stands there more often is
/// likelier.
pub(super) type Steps = [Step];

pub(super) struct Scene {
    pub(super) runtime: TestRuntime,
    pub(super) slots: Vec<Arc<SessionSlot>>,
    pub(super) acts: ActCounts,
    pub(super) told: Mutex<Durability>,
    pub(super) dice: Dice,
}

/// What people were told of what they wanted.
#[derive(Default)]
pub(super) struct Durability {
    pub(super) answers: Vec<(CallId, Decision, Result<(), DecisionError>)>,
    /// Each with a text of its own.
    pub(super) asks: Vec<(String, Result<(), Error>)>,
    pub(super) ends: Vec<TurnEnd>,
}

impl Scene {
    pub(super) async fn new(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let acts = ActCounts::default();
        let limits = Limits {
            decision_timeout: Duration::from_millis(5),
            transaction_deadline: Duration::from_millis(3),
            session_idle: Duration::from_millis(2),
            // What the store did not take is tried again after this time.
            ask_timeout: Duration::from_millis(50),
            max_restarts: usize::MAX,
            ..Limits::default()
        };
        let tools = [
            CountingTool::new("look", EffectPolicy::Read, false, &acts),
            CountingTool::new("save", EffectPolicy::Write, true, &acts),
            CountingTool::new("erase", EffectPolicy::Destructive, true, &acts),
            CountingTool::new("mail", EffectPolicy::Write, false, &acts),
        ];
        let runtime = TestRuntime::with_tools(limits, Wild(dice.clone()), tools).await;
        let mut slots = Vec::new();
        for name in ["a", "b", "c"] {
            slots.push(runtime.slot(name).await);
        }
        Self { runtime, slots, acts, told: Mutex::default(), dice }
    }

    /// Answers every second question, half of them with a yes.
    pub(super) fn answers(self: &Arc<Self>, people: &TaskTracker) {
        for slot in &self.slots {
            let scene = self.clone();
            let mut heard = slot.feed().subscribe();
            people.spawn(async move {
                while let Some(item) = heard.next().await {
                    let StreamItem::Event(event) = item else { continue };
                    let EventKind::ApprovalRequested { request } = &event.kind else { continue };
                    let decision = match scene.dice.below(4) {
                        0 => Decision::Approve,
                        1 => Decision::Deny,
                        _ => continue,
                    };
                    let told = scene.runtime.decide(request, decision.clone()).await;
                    scene.told.lock().unwrap().answers.push((request.call, decision, told));
                }
            });
        }
    }

    /// One thing happens.
    pub(super) async fn step(self: &Arc<Self>, steps: &Steps, number: usize, people: &TaskTracker) {
        let handles = &self.runtime.handles;
        let slot = self.slots[self.dice.below(3) as usize].clone();
        match steps[self.dice.below(steps.len() as u64) as usize] {
            Step::Ask => {
                let scene = self.clone();
                let text = format!("go {number}");
                people.spawn(async move {
                    let asked = scene.runtime.ask(&slot, &text).await;
                    let (began, end) = match asked {
                        Ok(end) => (Ok(()), Some(end)),
                        Err(refused) => (Err(refused), None),
                    };
                    scene.told.lock().unwrap().asks.push((text, began));
                    // An error where its actor was killed.
                    if let Some(end) = end
                        && let Ok(end) = in_time(end).await
                    {
                        scene.told.lock().unwrap().ends.push(end);
                    }
                });
            }
            Step::Dismiss => {
                let (reply, _) = oneshot::channel();
                self.runtime.send(&slot, SessionRequest::Dismiss { only: None, reply });
            }
            Step::Wait => sleep(Duration::from_millis(1)).await,
            Step::KillSession => drop(slot.awake().map(|session| session.kill())),
            Step::KillConfirm => handles.confirm.actor().kill(),
            Step::KillDispatcher => handles.dispatcher.actor().kill(),
            Step::KillStoreActor => handles.store_actor.actor().kill(),
            Step::FailBegin => self.runtime.store.fail_next_begin(),
            Step::LoseReply => self.runtime.store.lose_next_commit_reply(),
        }
        sleep(Duration::from_micros(self.dice.below(400))).await;
    }
}
