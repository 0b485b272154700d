//! A call without a model that its caller follows, and a key that makes it harmless to repeat.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    Call, CallId, CallReport, IdempotencyKey, Limits, RunningCall, Runtime, SessionId, Timestamp,
    TurnId, TurnOptions, UserId,
    approval::{ApprovalRequest, Decision},
    error::SessionError,
    ledger::{CallResult, Effect, LedgerFilter, LedgerRow},
    store::{Store, StoreError, Transaction},
};
use madang_actors::{
    ledger::{Proposal, Transition, text_digest},
    port::{BoxFuture, Write},
};
use madang_testing::{
    FakeTool, Gate, MemoryStore, Read, Runs, RuntimeHooks as _, ScriptedModel, SteppedStore, Steps,
};
use serde_json::json;
use tokio::{
    sync::Barrier,
    time::{sleep, timeout},
};

use crate::support::{PATIENCE, kim, kind};

const TOOLS: [&str; 5] = ["look", "note", "mail", "save", "burn"];

/// A runtime with a tool of each kind, whose handlers wait at the gate. `look` reads, `note` writes in the transaction,
/// `mail` elsewhere; `save` and `burn` do the same after a question.
struct Calls {
    runtime: Runtime,
    gate: Gate,
    runs: Vec<(&'static str, Runs)>,
}

impl Calls {
    async fn new() -> Self {
        Self::on(MemoryStore::new()).await
    }

    async fn on(store: impl Store) -> Self {
        let gate = Gate::new();
        let tools = [
            FakeTool::read("look"),
            FakeTool::transactional("note"),
            FakeTool::write("mail"),
            FakeTool::destructive_transactional("save"),
            FakeTool::destructive("burn").with_spec(|spec| spec.max_concurrent(1)),
        ]
        .map(|tool| tool.gate(&gate));
        let runs = TOOLS.into_iter().zip(tools.iter().map(FakeTool::runs)).collect();
        let mut limits = Limits::default();
        // Handlers at the gate hold the writer's transaction for as long as the test wants.
        limits.transaction_deadline = PATIENCE;
        let mut builder = Runtime::builder().model(ScriptedModel::new([])).store(store);
        for tool in tools {
            builder = builder.tool(tool);
        }
        let runtime = builder.limits(limits).start().await.unwrap();
        Self { runtime, gate, runs }
    }

    fn runs(&self, tool: &str) -> usize {
        self.runs.iter().find(|(name, _)| *name == tool).unwrap().1.count()
    }

    async fn begin(&self, call: Call) -> RunningCall {
        self.runtime.begin(call).await.unwrap()
    }

    async fn decide(&self, request: &ApprovalRequest, decision: Decision) {
        let ApprovalRequest { user, call, digest, .. } = request;
        self.runtime.decide(user, *call, *digest, decision).await.unwrap();
    }

    async fn row(&self, id: CallId) -> LedgerRow {
        self.runtime.ledger(&LedgerFilter::call(id)).await.unwrap().remove(0)
    }

    /// Waits until the ledger has the end of this call.
    async fn until_ended(&self, id: CallId) -> Vec<LedgerRow> {
        loop {
            let rows = self.runtime.ledger(&LedgerFilter::call(id)).await.unwrap();
            if rows.iter().any(|row| row.effect.is_some()) {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn shutdown(self) {
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
    }
}

/// The paused clock passes this once no task has anything else to do: an end is tried again meanwhile.
const PAUSES: Duration = Duration::from_secs(20);

/// Fails to begin any transaction, or to read, while that is set.
#[derive(Debug, Clone, Default)]
struct Fails {
    begins: Arc<AtomicBool>,
    reads: Arc<AtomicBool>,
}

impl Fails {
    fn set(&self, fails: bool) {
        self.begins.store(fails, SeqCst);
    }

    fn set_reads(&self, fails: bool) {
        self.reads.store(fails, SeqCst);
    }
}

fn failed<'a, T: Send + 'a>() -> BoxFuture<'a, Read<T>> {
    Box::pin(async { Err(StoreError::refused("the test lets it fail")) })
}

impl Steps for Fails {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        if self.begins.load(SeqCst) { failed() } else { of.begin() }
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        _: impl FnOnce() -> String,
        read: BoxFuture<'a, Read<T>>,
    ) -> BoxFuture<'a, Read<T>> {
        if self.reads.load(SeqCst) { failed() } else { read }
    }
}

fn call(tool: &str) -> Call {
    Call::new(kim(), tool, r#"{"a":1,"b":"x"}"#).can_ask()
}

fn key(key: &str) -> IdempotencyKey {
    IdempotencyKey::new(key).unwrap()
}

fn keyed(tool: &str) -> Call {
    call(tool).key(key("k"))
}

async fn request(call: &mut RunningCall) -> Option<Arc<ApprovalRequest>> {
    timeout(PATIENCE, call.request()).await.expect("it asks or ends in time")
}

async fn ended(call: &RunningCall) -> CallReport {
    timeout(PATIENCE, call.ended()).await.expect("it ends in time")
}

#[tokio::test]
async fn a_call_is_followed_from_its_request_to_its_end() {
    let calls = Calls::new().await;
    calls.gate.open();
    let mut save = calls.begin(call("save")).await;
    let asked = request(&mut save).await.unwrap();
    assert_eq!((asked.call, &asked.session), (save.id(), save.session()));
    calls.decide(&asked, Decision::Approve).await;
    assert_eq!(request(&mut save).await, None, "a request is given once, and none follows");
    let report = ended(&save).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
    assert_eq!(report, ended(&save).await, "the end stays");
    let rows = calls.runtime.ledger(&LedgerFilter::call(save.id())).await.unwrap();
    assert!(rows[0].has_decision(&kim(), asked.digest, &Decision::Approve));
    drop(save);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_call_whose_person_cannot_be_asked_does_not_wait() {
    let calls = Calls::new().await;
    let mut burn = calls.begin(Call::new(kim(), "burn", "{}")).await;
    assert_eq!(request(&mut burn).await, None);
    assert_eq!(kind(&ended(&burn).await), "unreachable");
    drop(burn);
    calls.shutdown().await;
}

#[tokio::test]
async fn dropping_a_running_call_cancels_nothing() {
    let calls = Calls::new().await;
    let mail = calls.begin(call("mail")).await;
    let id = mail.id();
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    drop(mail);
    calls.gate.open();
    let rows = timeout(PATIENCE, calls.until_ended(id)).await.expect("it ends in time");
    assert_eq!(
        (rows[0].effect, rows[0].result),
        (Some(Effect::Committed), Some(CallResult::Shown))
    );
}

/// Many callers of one key at once, on several threads, against tools of each kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_is_begun_many_times_at_once_under_one_key_runs_once_and_has_one_end() {
    for (tool, asks) in [("look", false), ("note", false), ("mail", false), ("save", true)] {
        let calls = Calls::new().await;
        calls.gate.open();
        let rounds = 40;
        for round in 0..rounds {
            let start = Arc::new(Barrier::new(8));
            let callers: Vec<_> = (0..8)
                .map(|_| {
                    let (runtime, start) = (calls.runtime.clone(), start.clone());
                    let call = call(tool).key(key(&format!("round {round}")));
                    tokio::spawn(async move {
                        start.wait().await;
                        let mut running = runtime.begin(call).await.unwrap();
                        if let Some(asked) = running.request().await {
                            let ApprovalRequest { user, call, digest, .. } = &*asked;
                            // One of the callers wins.
                            drop(runtime.decide(user, *call, *digest, Decision::Approve).await);
                        }
                        running.ended().await
                    })
                })
                .collect();
            let mut reports = Vec::new();
            for caller in callers {
                reports.push(timeout(PATIENCE, caller).await.unwrap().unwrap());
            }
            assert_eq!(kind(&reports[0]), "ok", "{tool}");
            assert!(reports.iter().all(|report| *report == reports[0]), "{tool}: {reports:?}");
            assert_eq!(calls.runs(tool), round + 1, "{tool}");
        }
        let rows = calls.runtime.ledger(&LedgerFilter::default()).await.unwrap();
        assert_eq!((rows.len(), asks), (rounds, rows[0].approval.is_some()), "{tool}");
        calls.shutdown().await;
    }
}

#[tokio::test]
async fn a_repeated_call_joins_the_one_that_runs_and_later_gives_its_recorded_end() {
    let calls = Calls::new().await;
    for tool in ["note", "mail"] {
        let (first, second) = (
            calls.begin(keyed(tool).key(key(tool))).await,
            calls.begin(keyed(tool).key(key(tool))).await,
        );
        assert_eq!((first.id(), first.session()), (second.id(), second.session()));
        calls.gate.release();
        let (report, same) = (ended(&first).await, ended(&second).await);
        assert_eq!(report, same);
        drop((first, second));
        // No handle is left, so this one is read from the ledger.
        let again = ended(&calls.begin(keyed(tool).key(key(tool))).await).await;
        assert_eq!(again, report);
        assert_eq!((calls.runs(tool), again.is_recorded), (1, true));
    }
    calls.shutdown().await;
}

#[tokio::test]
async fn a_caller_that_joins_is_given_the_request_that_is_open() {
    let calls = Calls::new().await;
    calls.gate.open();
    let mut first = calls.begin(keyed("save")).await;
    let asked = request(&mut first).await.unwrap();
    let mut second = calls.begin(keyed("save")).await;
    assert_eq!(request(&mut second).await.as_ref(), Some(&asked));
    drop(first);
    let no = Decision::DenyWith { message: "not now".into() };
    calls.decide(&asked, no.clone()).await;
    let report = ended(&second).await;
    assert_eq!(kind(&report), "denied");
    drop(second);
    assert_eq!(ended(&calls.begin(keyed("save")).await).await, report);
    let rows = calls.runtime.ledger(&LedgerFilter::call(asked.call)).await.unwrap();
    assert!(rows[0].has_decision(&kim(), asked.digest, &no));
    assert!(!rows[0].has_decision(&kim(), asked.digest, &Decision::Approve));
    calls.shutdown().await;
}

#[tokio::test]
async fn another_tool_session_or_other_arguments_under_a_key_are_refused() {
    let calls = Calls::new().await;
    let running = calls.begin(keyed("mail")).await;
    let id = running.id();
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    let refused = async || {
        let other = SessionId::new("other").unwrap();
        let others = [
            keyed("note"),
            Call::new(kim(), "mail", r#"{"a":2,"b":"x"}"#).key(key("k")),
            Call::new(kim(), "mail", "nonsense").key(key("k")),
            keyed("mail").session(other),
        ];
        for other in others {
            let refused = calls.runtime.begin(other).await.unwrap_err();
            assert!(matches!(refused, SessionError::OtherCall(of) if of == id), "{refused:?}");
            assert_eq!(refused.to_string(), format!("the key belongs to another call: {id}"));
        }
        // The same in another order and with other blanks is the same.
        let spaced = Call::new(kim(), "mail", "{ \"b\": \"x\", \"a\": 1 }").key(key("k"));
        calls.begin(spaced).await
    };
    assert_eq!(refused().await.id(), id);
    calls.gate.open();
    ended(&running).await;
    drop(running);
    // The ledger alone has the call now.
    assert_eq!(ended(&refused().await).await.record.id, id);
    assert_eq!((calls.runs("mail"), calls.runs("note")), (1, 0));
    let lee = Call::new(UserId::new("lee").unwrap(), "note", "{}").key(key("k"));
    let of_lee = calls.begin(lee).await;
    assert_ne!(of_lee.id(), id, "a key is its user's");
    assert_eq!(kind(&ended(&of_lee).await), "ok");
    drop(of_lee);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_call_of_another_user_is_not_given_though_it_had_the_id_of_a_key() {
    let store = MemoryStore::new();
    let id = CallId::of_key(&kim(), &key("k"));
    let (session, at) = (SessionId::new(format!("call-{id}")).unwrap(), Timestamp::from_millis(0));
    let (lee, turn) = (UserId::new("lee").unwrap(), TurnId::new(id.uuid()));
    let proposed = Transition::Proposed(Proposal {
        model: None,
        opaque: None,
        turn,
        seq: 1,
        name: "mail".into(),
        arguments: r#"{"a":1,"b":"x"}"#.into(),
        user: lee.clone(),
    });
    let writes = [
        Write::Session { session: session.clone(), user: lee, at },
        Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options: TurnOptions::default(),
            text: text_digest(""),
            max_stored_bytes: u64::MAX,
        },
        Write::Call { session, call: id, at, transition: proposed },
    ];
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&writes).await.unwrap();
    transaction.commit().await.unwrap();
    let calls = Calls::on(store).await;
    let refused = calls.runtime.begin(keyed("mail")).await.unwrap_err();
    assert!(matches!(refused, SessionError::OtherCall(of) if of == id), "{refused:?}");
    calls.shutdown().await;
}

#[tokio::test]
async fn a_key_is_free_until_its_call_has_begun() {
    let calls = Calls::new().await;
    calls.gate.open();
    let nowhere = keyed("note").time_zone("Nowhere/Land");
    let refused = calls.runtime.begin(nowhere).await.unwrap_err();
    assert!(matches!(refused, SessionError::TimeZone(_)), "{refused:?}");
    let session = SessionId::new("s").unwrap();
    let held = calls.begin(call("burn").session(session.clone())).await;
    let busy = calls.runtime.begin(keyed("note").session(session.clone())).await.unwrap_err();
    assert!(matches!(busy, SessionError::Busy(_)), "{busy:?}");
    held.dismiss();
    ended(&held).await;
    let begun = calls.begin(keyed("note").session(session.clone())).await;
    assert_eq!((kind(&ended(&begun).await).as_str(), begun.session()), ("ok", &session));
    // Recorded, it is found though its session is busy.
    let held = calls.begin(call("burn").session(session.clone())).await;
    let again = calls.begin(keyed("note").session(session)).await;
    assert_eq!(ended(&again).await, ended(&begun).await);
    held.dismiss();
    ended(&held).await;
    drop((held, begun, again));
    calls.shutdown().await;
}

#[tokio::test]
async fn the_call_of_a_key_whose_end_was_not_recorded_is_what_the_ledger_says() {
    let ends = [
        ("note", Effect::None, ("ok", Effect::Committed)),
        ("mail", Effect::Unknown, ("handler_error", Effect::Unknown)),
    ];
    for (tool, effect, said) in ends {
        let fails = Fails::default();
        let store = SteppedStore::new(MemoryStore::new(), fails.clone());
        let calls = Calls::on(store).await;
        // Nothing is written of the first, and of the second only that it began.
        fails.set(tool == "note");
        let lost = calls.begin(keyed(tool)).await;
        if tool == "mail" {
            timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
            fails.set(true);
        }
        calls.gate.open();
        let report = ended(&lost).await;
        assert_eq!((report.is_recorded, report.record.effect), (false, effect), "{tool}");
        fails.set(false);
        let again = calls.begin(keyed(tool)).await;
        let report = ended(&again).await;
        let told = (kind(&report), report.record.effect, report.is_recorded);
        assert_eq!(told, (said.0.to_owned(), said.1, true), "{tool}");
        assert_eq!(calls.runs(tool), 1, "{tool}");
        drop((lost, again));
        calls.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_end_the_store_did_not_take_ends_in_the_ledger_when_the_store_is_back() {
    let fails = Fails::default();
    let calls = Calls::on(SteppedStore::new(MemoryStore::new(), fails.clone())).await;
    let lost = calls.begin(call("mail")).await;
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    fails.set(true);
    calls.gate.open();
    let report = ended(&lost).await;
    assert_eq!((report.is_recorded, report.record.effect), (false, Effect::Unknown));
    sleep(PAUSES).await;
    assert_eq!(calls.row(lost.id()).await.effect, None, "the store is away");
    fails.set(false);
    sleep(PAUSES).await;
    let row = calls.row(lost.id()).await;
    assert_eq!(row.effect, Some(Effect::Unknown));
    assert!(!row.outcome.unwrap().is_ok());
    assert_eq!((ended(&lost).await, calls.runs("mail")), (report, 1), "what was told stays");
    drop(lost);
    calls.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_call_of_a_key_that_runs_again_is_not_ended_for_an_end_that_was_not_recorded() {
    let fails = Fails::default();
    let calls = Calls::on(SteppedStore::new(MemoryStore::new(), fails.clone())).await;
    fails.set(true);
    let lost = calls.begin(keyed("mail")).await;
    fails.set_reads(true); // so it is not known whether the ledger has the call open
    assert!(!ended(&lost).await.is_recorded);
    fails.set(false);
    fails.set_reads(false);
    let again = calls.begin(keyed("mail")).await;
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    sleep(PAUSES).await;
    calls.gate.open();
    let report = ended(&again).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
    assert!(report.is_recorded);
    drop((lost, again));
    calls.shutdown().await;
}

#[tokio::test]
async fn a_dismissed_call_that_waits_for_a_person_ends_for_all_its_holders() {
    let calls = Calls::new().await;
    let mut first = calls.begin(keyed("save")).await;
    let second = calls.begin(keyed("save")).await;
    let asked = request(&mut first).await.unwrap();
    second.dismiss();
    let report = ended(&first).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("dismissed", Effect::None));
    assert_eq!(ended(&second).await, report);
    let ApprovalRequest { user, call, digest, .. } = &*asked;
    let late = calls.runtime.decide(user, *call, *digest, Decision::Approve).await;
    assert_eq!(late, Err(madang::error::DecisionError::NotOpen));
    drop((first, second));
    assert_eq!(ended(&calls.begin(keyed("save")).await).await, report, "a new try needs a new key");
    assert_eq!(calls.runs("save"), 0);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_dismissed_call_that_has_not_begun_does_not_run() {
    let calls = Calls::new().await;
    let mut holds = calls.begin(call("burn")).await;
    let asked = request(&mut holds).await.unwrap();
    calls.decide(&asked, Decision::Approve).await;
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    // The store's writer is busy with this one, so the next waits for it.
    let note = calls.begin(call("note")).await;
    timeout(PATIENCE, calls.gate.arrived(2)).await.unwrap();
    let waits = calls.begin(call("note")).await;
    waits.dismiss();
    calls.gate.open();
    let report = ended(&waits).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("withdrawn", Effect::None));
    assert_eq!(kind(&ended(&note).await), "ok");
    assert_eq!(kind(&ended(&holds).await), "ok");
    assert_eq!(calls.runs("note"), 1);
    drop((holds, note, waits));
    calls.shutdown().await;
}

#[tokio::test]
async fn a_handler_that_has_begun_commits_though_its_call_is_dismissed_and_its_result_is_discarded()
{
    for tool in ["note", "mail"] {
        let calls = Calls::new().await;
        let running = calls.begin(keyed(tool)).await;
        timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
        running.dismiss();
        calls.gate.open();
        let report = ended(&running).await;
        assert_eq!(report.outcome(), None, "{tool}");
        let expected = (Effect::Committed, CallResult::Discarded);
        assert_eq!((report.record.effect, report.record.result), expected, "{tool}");
        drop(running);
        assert_eq!(ended(&calls.begin(keyed(tool)).await).await, report, "{tool}");
        assert_eq!(calls.runs(tool), 1, "{tool}");
        calls.shutdown().await;
    }
}

#[tokio::test]
async fn a_dismissal_after_the_end_changes_nothing() {
    let calls = Calls::new().await;
    calls.gate.open();
    let running = calls.begin(keyed("note")).await;
    let report = ended(&running).await;
    running.dismiss();
    assert_eq!(ended(&running).await, report);
    drop(running);
    let again = calls.begin(keyed("note")).await;
    again.dismiss();
    assert_eq!(ended(&again).await, report);
    let rows = calls.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!((rows.len(), rows[0].result), (1, Some(CallResult::Shown)));
    drop(again);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_request_that_is_lost_with_the_confirm_actor_is_given_again() {
    let calls = Calls::new().await;
    calls.gate.open();
    let mut save = calls.begin(call("save")).await;
    let asked = request(&mut save).await.unwrap();
    calls.runtime.actors().confirm.kill().await;
    let again = request(&mut save).await;
    assert_eq!(again.as_ref(), Some(&asked), "it is the same request");
    calls.decide(&asked, Decision::Approve).await;
    assert_eq!(kind(&ended(&save).await), "ok");
    drop(save);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_call_without_its_dispatcher_has_an_end_that_the_ledger_tells_under_its_key() {
    let calls = Calls::new().await;
    calls.gate.open();
    let dispatcher = calls.runtime.actors().dispatcher.clone();
    let gone = dispatcher.actor();
    gone.kill();
    let lost = calls.begin(keyed("note")).await;
    let report = ended(&lost).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("handler_error", Effect::None));
    assert!(report.is_recorded);
    timeout(PATIENCE, dispatcher.after(&gone)).await.unwrap();
    drop(lost);
    assert_eq!(ended(&calls.begin(keyed("note")).await).await, report);
    assert_eq!(calls.runs("note"), 0);
    calls.shutdown().await;
}

#[tokio::test]
async fn the_call_of_a_key_is_the_same_for_the_next_runtime() {
    let store = MemoryStore::new();
    let calls = Calls::on(store.clone()).await;
    calls.gate.open();
    let report = ended(&calls.begin(keyed("mail")).await).await;
    calls.shutdown().await;
    let calls = Calls::on(store).await;
    assert_eq!(ended(&calls.begin(keyed("mail")).await).await, report);
    assert_eq!(calls.runs("mail"), 0);
    let other = Call::new(kim(), "mail", json!({}).to_string()).key(key("k"));
    let refused = calls.runtime.begin(other).await.unwrap_err();
    assert!(matches!(refused, SessionError::OtherCall(_)), "{refused:?}");
    calls.shutdown().await;
}
