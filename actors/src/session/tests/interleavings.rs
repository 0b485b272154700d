//! What must hold whatever happens at the same time: random asks, dismissals, answers, kills, late handlers and faults
//! of the store; afterwards the tools' own books are compared with the ledger.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::oneshot, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    dispatcher::DispatcherMsg,
    port::{
        Access, BoxFuture, ChatModel, ConnectionType, Deltas, LedgerRow, ModelError, ModelInfo,
        Need, Prepared, Store, Tool, ToolContext, ToolFault, ToolResult,
    },
    protocol::{
        Bound, CallId, CallResult, Completion, CompletionRequest, Decision, Effect, EffectPolicy,
        EventKind, Limits, ToolOutcome, ToolSpec, WantedCall,
    },
    session::{Door, History, Item, SessionMsg},
    testing::{
        MemoryConnection,
        yard::{PATIENCE, Yard, in_time},
    },
};

/// How many worlds each test goes through.
const SEEDS: u64 = 40;

/// Numbers that look random and are the same for the same seed.
#[derive(Debug, Clone)]
struct Dice(Arc<Mutex<u64>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)))
    }

    fn below(&self, bound: u64) -> u64 {
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
                WantedCall { name: name.into(), arguments: arguments.to_string().into() }
            };
            let tool_calls = (0..calls).map(call).collect();
            Ok(Completion { text, tool_calls, ..Completion::default() })
        })
    }
}

/// A tool that keeps its own book of how often it acted for a call: in the store's transaction, or beside it.
#[derive(Debug)]
struct Booked {
    spec: ToolSpec,
    is_transactional: bool,
    book: Book,
}

type Book = Arc<Mutex<BTreeMap<CallId, u32>>>;

impl Booked {
    fn new(name: &str, effect: EffectPolicy, is_transactional: bool, book: &Book) -> Self {
        let spec = ToolSpec::new(name, "Keeps its own book.", json!({ "type": "object" }))
            .effect(effect)
            .timeout(Duration::from_millis(2));
        Self { spec, is_transactional, book: book.clone() }
    }
}

impl Tool for Booked {
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
                *self.book.lock().unwrap().entry(ctx.call).or_default() += 1;
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

/// Whether the store and the dispatcher fail too: then a reserved number may stay unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    OfSessions,
    OfAll,
}

struct Scene {
    yard: Yard,
    doors: Vec<Arc<Door>>,
    book: Book,
    approved: Arc<Mutex<BTreeSet<CallId>>>,
    dice: Dice,
}

impl Scene {
    async fn new(seed: u64) -> Self {
        let (dice, book) = (Dice::new(seed), Book::default());
        let limits = Limits {
            confirmation_timeout: Duration::from_millis(5),
            transaction_deadline: Duration::from_millis(3),
            session_idle: Duration::from_millis(2),
            max_restarts: usize::MAX,
            ..Limits::default()
        };
        let tools = [
            Booked::new("look", EffectPolicy::Read, false, &book),
            Booked::new("save", EffectPolicy::Write, true, &book),
            Booked::new("erase", EffectPolicy::Destructive, true, &book),
            Booked::new("mail", EffectPolicy::Write, false, &book),
        ];
        let yard = Yard::keeping(History::Stored, limits, Wild(dice.clone()), tools).await;
        let mut doors = Vec::new();
        for name in ["a", "b", "c"] {
            doors.push(yard.door(name).await);
        }
        Self { yard, doors, book, approved: Arc::default(), dice }
    }

    /// Answers every second question, half of them with a yes.
    fn answers(self: &Arc<Self>, people: &TaskTracker) {
        for door in &self.doors {
            let (scene, mut heard) = (self.clone(), door.feed().subscribe());
            people.spawn(async move {
                while let Some(item) = heard.next().await {
                    let Item::Event(event) = item else { continue };
                    let EventKind::ConfirmationAsked { question } = &event.kind else { continue };
                    let decision = match scene.dice.below(4) {
                        0 => Decision::Approve,
                        1 => Decision::Deny,
                        _ => continue,
                    };
                    if decision == Decision::Approve {
                        scene.approved.lock().unwrap().insert(question.call);
                    }
                    // Refused where it ended meanwhile.
                    scene.yard.answer(question, decision).await.ok();
                }
            });
        }
    }

    /// One thing happens.
    async fn step(self: &Arc<Self>, faults: Faults, people: &TaskTracker) {
        let tree = &self.yard.tree;
        let door = self.doors[self.dice.below(3) as usize].clone();
        let kinds = if faults == Faults::OfAll { 12 } else { 8 };
        match self.dice.below(kinds) {
            0..=3 => {
                let scene = self.clone();
                people.spawn(async move {
                    if let Ok(end) = scene.yard.ask(&door, "go").await {
                        drop(in_time(end).await); // an error where its actor was killed
                    }
                });
            }
            4 => {
                let (reply, _) = oneshot::channel();
                self.yard.send(&door, SessionMsg::Dismiss { reply });
            }
            5 => drop(door.awake().map(|session| session.kill())),
            6 => tree.confirm.actor().kill(),
            7 => sleep(Duration::from_millis(1)).await,
            8 => tree.dispatcher.actor().kill(),
            9 => tree.store_actor.actor().kill(),
            10 => self.yard.store.fail_next_begin(),
            _ => self.yard.store.lose_next_commit_reply(),
        }
        sleep(Duration::from_micros(self.dice.below(400))).await;
    }

    /// Everybody who died in mid-turn wakes once more, and the books are compared.
    async fn check(&self, faults: Faults) -> Vec<LedgerRow> {
        while self.yard.tree.store.write(Vec::new()).await.is_err() {
            tokio::task::yield_now().await; // a fault that has not yet struck
        }
        // Late handlers too, whose real end changes what a session that wakes meanwhile has read.
        self.yard.wiring.tasks.close();
        in_time(self.yard.wiring.tasks.wait()).await;
        for door in &self.doors {
            while let Some(session) = door.awake() {
                session.kill();
                tokio::task::yield_now().await;
            }
            let messages = self.yard.state(door).await.messages;
            let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
            let is_next = |a: &u64, b: &u64| match faults {
                Faults::OfSessions => *b == a + 1,
                Faults::OfAll => b > a,
            };
            assert!(seqs.is_sorted_by(is_next), "{seqs:?}");
            let stored = self.yard.store.session(door.session()).await.unwrap().unwrap();
            assert_eq!((stored.open_turn, stored.messages), (None, messages));
        }
        let running = |reply| DispatcherMsg::RunningCalls { reply };
        let rows = self.yard.settled().await;
        while self.yard.tree.dispatcher.ask(running, PATIENCE).await != Ok(0) {
            tokio::task::yield_now().await; // it is being started anew
        }
        self.compare(&rows);
        // Whoever ended, however, has given its places back.
        for bound in
            [Bound::RunningTurns, Bound::OpenQuestions, Bound::RunningCalls, Bound::QueuedBytes]
        {
            while tree_held(&self.yard, bound) > 0 {
                tokio::task::yield_now().await;
            }
        }
        rows
    }

    fn compare(&self, rows: &[LedgerRow]) {
        let committed = |row: &&LedgerRow| row.effect == Some(Effect::Committed);
        let of = |names: &'static [&'static str]| {
            rows.iter().filter(move |row| names.contains(&&*row.name))
        };
        let in_ledger: BTreeMap<_, _> = of(&["save", "erase"])
            .filter(committed)
            .map(|row| (row.call.to_string(), json!(1)))
            .collect();
        assert_eq!(
            self.yard.store.connection().values(),
            in_ledger,
            "each once, none without entry"
        );
        assert!(of(&["save", "erase", "look"]).all(|row| row.effect != Some(Effect::Unknown)));
        let approved = self.approved.lock().unwrap();
        assert!(of(&["erase"]).filter(committed).all(|row| approved.contains(&row.call)), "asked");
        let mut book = self.book.lock().unwrap().clone();
        for row in of(&["mail"]) {
            match (row.effect, book.remove(&row.call)) {
                (Some(Effect::Committed), Some(1)) | (Some(Effect::None), None) => {}
                (Some(Effect::Unknown), None | Some(1)) => {}
                other => panic!("{other:?} {row:?}"),
            }
        }
        assert!(book.is_empty(), "mails of no call in the ledger: {book:?}");
    }
}

fn tree_held(yard: &Yard, bound: Bound) -> usize {
    yard.tree.around.admission.held(bound)
}

async fn run(seed: u64, faults: Faults) -> Vec<LedgerRow> {
    let (scene, people) = (Arc::new(Scene::new(seed).await), TaskTracker::new());
    let asking = TaskTracker::new();
    scene.answers(&people);
    for _ in 0..40 {
        scene.step(faults, &asking).await;
    }
    asking.close();
    in_time(asking.wait()).await;
    let rows = in_time(scene.check(faults)).await;
    scene.doors.iter().for_each(|door| door.feed().close_subscriptions());
    people.close();
    in_time(people.wait()).await;
    rows
}

async fn run_all(faults: Faults) {
    let mut rows = Vec::new();
    for seed in 0..SEEDS {
        rows.extend(run(seed, faults).await);
    }
    // Otherwise these worlds were too tame to prove anything.
    let has = |name: &str, effect| {
        rows.iter().any(|row| &*row.name == name && row.effect == Some(effect))
    };
    assert!(has("save", Effect::Committed) && has("save", Effect::None), "{}", rows.len());
    assert!(has("erase", Effect::Committed) && has("erase", Effect::None));
    assert!(has("mail", Effect::Committed) && has("mail", Effect::Unknown));
    assert!(rows.iter().any(|row| row.result == Some(CallResult::Discarded)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_interleaving_of_turns_dismissals_answers_and_kills_loses_or_doubles_an_effect() {
    run_all(Faults::OfSessions).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_with_faults_of_the_store_and_of_the_dispatcher() {
    run_all(Faults::OfAll).await;
}
