//! A call without a model that its caller follows. `keys`: it is harmless to repeat. `unrecorded`:
//! the store fails.

mod keys;
mod unrecorded;

use std::sync::Arc;

use madang::{
    Asks, Call, CallId, CallReport, Error, IdempotencyKey, Limits, RunningCall, Runtime,
    approval::{ApprovalRequest, Approver, Decision},
    event::{EventCursor, EventKind, StreamItem},
    ledger::{CallResult, Effect, LedgerFilter, LedgerRow},
    store::Store,
};
use madang_testing::{FakeTool, Gate, MemoryStore, Runs, RuntimeHooks as _, ScriptedModel};
use tokio::time::timeout;

use crate::support::{PATIENCE, kim, kind};

const TOOLS: [&str; 5] = ["look", "note", "mail", "save", "burn"];

/// A runtime with a tool of each kind, whose handlers wait at the gate. `look` reads, `note` writes
/// in the transaction, `mail` elsewhere; `save` and `burn` do the same after a question.
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
        // Handlers at the gate hold the writer's transaction for as long as the test wants.
        let limits = Limits { transaction_deadline: PATIENCE, ..Limits::default() };
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
        self.runtime.user_with_id(user).decide(*call, *digest, decision).await.unwrap();
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

fn call(tool: &str) -> Call {
    Call::new(kim(), tool, r#"{"a":1,"b":"x"}"#).asks(Asks::User)
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

#[tokio::test]
async fn an_approver_decides_although_its_caller_has_left() {
    let calls = Calls::new().await;
    calls.gate.open();
    let approver = Approver::Decided(Decision::Approve);
    let save = calls.begin(Call::new(kim(), "save", "{}").approver(approver)).await;
    let id = save.id();
    drop(save);
    let rows = timeout(PATIENCE, calls.until_ended(id)).await.expect("it ends in time");
    assert_eq!((rows[0].effect, calls.runs("save")), (Some(Effect::Committed), 1));
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
    let late = calls.runtime.user_with_id(user).decide(*call, *digest, Decision::Approve).await;
    assert_eq!(late, Err(madang::error::DecisionError::NotOpen));
    drop((first, second));
    assert_eq!(ended(&calls.begin(keyed("save")).await).await, report, "a new try needs a new key");
    assert_eq!(calls.runs("save"), 0);
    calls.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn while_a_call_waits_for_a_person_its_chat_is_read_and_nothing_else_begins_there() {
    let calls = Calls::new().await;
    let session = calls.runtime.user("kim").unwrap().session("chat").await.unwrap();
    let mut save = calls.begin(call("save").session(session.id().clone())).await;
    let asked = request(&mut save).await.unwrap();
    let reads = async {
        assert!(session.state().await.unwrap().messages.is_empty());
        assert!(session.turn().await.unwrap().is_none());
        session.subscribe_after(EventCursor::START).await.unwrap()
    };
    let mut events = timeout(PATIENCE, reads).await.expect("it does not wait for the person");
    let refused = timeout(PATIENCE, session.send("hi")).await.expect("nor does a text");
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    calls.gate.open();
    calls.decide(&asked, Decision::Approve).await;
    assert_eq!(kind(&ended(&save).await), "ok");
    assert_eq!(session.state().await.unwrap().messages.len(), 1);
    let told = timeout(PATIENCE, async {
        loop {
            if let Some(StreamItem::Event(event)) = events.next().await
                && let EventKind::ToolCallEnded { record } = &event.kind
            {
                break record.id;
            }
        }
    });
    assert_eq!(told.await.expect("its reader hears of it"), save.id());
    drop(save);
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
async fn a_running_handler_commits_though_its_call_is_dismissed_and_its_result_discarded() {
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
