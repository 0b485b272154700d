//! Handlers that end after their caller has received that the effect is unknown.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{SHORT, hasty};
use crate::{
    dispatcher::{DispatchRequest, ends_of_lost},
    ledger::{CallState, Transition},
    mailbox::Recipient,
    port::{
        Access, BoxFuture, ConnectionType, LedgerRow, Need, Prepared, Tool, ToolContext,
        ToolResult, Write,
    },
    protocol::{
        Effect, EffectPolicy, EffectResolution, Locale, ResolvedBy, ResolvedCall, ToolOutcome,
        ToolSpec,
    },
    test_runtime::{OneCall, TestRuntime, in_time, kind},
    testing::{End, FakeTool, Gate, MemoryConnection},
};

#[tokio::test]
async fn a_late_handler_is_resolved_by_what_it_did_and_not_at_all_where_it_panics() {
    for (end, effect) in [
        (End::Echo, Effect::Committed),
        (End::Refuse("no", "not done"), Effect::None),
        (End::Panic("late"), Effect::Unknown),
    ] {
        let gate = Gate::new();
        let test =
            TestRuntime::new([hasty(FakeTool::write("mail")).gate(&gate).end(end.clone())]).await;
        assert_eq!(kind(&test.call("mail", "{}").await), "timeout, Unknown");
        gate.open();
        let rows = test.at_rest().await;
        assert_eq!((rows.len(), rows[0].effect), (1, Some(effect)), "{end:?}");
    }
}

/// A call whose caller was told that the effect is unknown, with the receiver of its handler's end.
async fn timed_out(test: &TestRuntime) -> (OneCall, mpsc::UnboundedReceiver<ResolvedCall>) {
    let (late, heard) = mpsc::unbounded_channel();
    let hears = |request: &mut DispatchRequest| request.late = Recipient::channel(late);
    let mut call = test.begin_with("mail", "{}", hears).await;
    assert_eq!(call.end().await.record.effect, Effect::Unknown);
    (call, heard)
}

async fn step(test: &TestRuntime, call: &OneCall, transition: Transition) {
    let (session, id, at) =
        (call.request.session.clone(), call.request.call.id, test.handles.calls.clock.now());
    let step = Write::Call { session, call: id, at, transition };
    test.handles.store.write(vec![step]).await.unwrap();
}

#[tokio::test]
async fn the_receiver_of_a_late_end_hears_what_the_handler_did_once_that_is_recorded() {
    let gate = Gate::new();
    let test = TestRuntime::new([hasty(FakeTool::write("mail")).gate(&gate)]).await;
    let (call, mut heard) = timed_out(&test).await;
    let id = call.request.call.id;
    assert!(test.handles.calls.is_running(id));
    gate.open();
    let resolved = in_time(heard.recv()).await.unwrap();
    assert_eq!(
        (resolved.call, resolved.resolution, resolved.by),
        (id, EffectResolution::TookEffect, ResolvedBy::Handler)
    );
    let row = test.at_rest().await.remove(0);
    assert_eq!((row.effect, row.resolved_by), (Some(Effect::Committed), Some(ResolvedBy::Handler)));
    assert!(!test.handles.calls.is_running(id));
}

#[tokio::test]
async fn a_late_end_of_a_call_that_was_resolved_before_changes_nothing_and_is_not_told() {
    let gate = Gate::new();
    let test = TestRuntime::new([hasty(FakeTool::write("mail")).gate(&gate)]).await;
    let (call, mut heard) = timed_out(&test).await;
    let by = ResolvedBy::Person { user: call.request.user.clone() };
    let resolution = EffectResolution::DidNot;
    step(&test, &call, Transition::Resolved { resolution, by: by.clone() }).await;
    gate.open();
    let row = test.at_rest().await.remove(0);
    assert_eq!((row.effect, row.resolved_by), (Some(Effect::None), Some(by)));
    assert!(heard.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_resolves_a_call_that_was_ended_without_it() {
    let gate = Gate::new();
    let test = TestRuntime::new([hasty(FakeTool::write("mail")).gate(&gate)]).await;
    let (late, mut heard) = mpsc::unbounded_channel();
    let hears = |request: &mut DispatchRequest| request.late = Recipient::channel(late);
    let mut call = test.begin_with("mail", "{}", hears).await;
    in_time(gate.arrived(1)).await;
    test.store.fail_next_begin();
    assert!(!call.end().await.is_recorded);
    // As a session does that wakes meanwhile.
    let row = test.ledger().await.remove(0);
    let lost = ends_of_lost(&test.handles.calls, &[&row], Locale::EN).remove(0);
    assert_eq!(lost.effect, Effect::Unknown);
    step(&test, &call, Transition::Ended(lost)).await;
    gate.open();
    assert_eq!(in_time(heard.recv()).await.unwrap().resolution, EffectResolution::TookEffect);
    assert_eq!(test.at_rest().await[0].effect, Some(Effect::Committed));
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_whose_timeout_could_not_be_recorded_is_recorded_with_its_real_end() {
    let gate = Gate::new();
    let tool = hasty(FakeTool::write("mail")).gate(&gate);
    let test = TestRuntime::new([tool]).await;
    let mut call = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    test.store.fail_next_begin();
    let told = call.end().await;
    assert_eq!((kind(&told).as_str(), told.is_recorded), ("store, Unknown", false));
    gate.open();
    assert_eq!(test.at_rest().await[0].effect, Some(Effect::Committed));
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_whose_real_end_was_recorded_has_nothing_more_to_record() {
    let gate = Gate::new();
    let test = TestRuntime::new([hasty(FakeTool::write("mail")).gate(&gate)]).await;
    let mut call = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    test.store.fail_next_begin();
    assert!(!call.end().await.is_recorded);
    let before = test.store.commits();
    gate.open();
    assert_eq!(test.at_rest().await[0].effect, Some(Effect::Committed));
    assert_eq!(test.store.commits() - before, 1);
}

/// Its session may have gone on meanwhile with numbers of its own.
#[tokio::test]
async fn a_late_reader_of_which_the_ledger_never_heard_is_left_out_of_it() {
    let gate = Gate::new();
    let test = TestRuntime::new([hasty(FakeTool::read("look")).gate(&gate)]).await;
    let store = test.store.clone();
    let mut call = test.begin_with("look", "{}", |_| store.fail_next_begin()).await;
    let told = call.end().await;
    assert_eq!((kind(&told).as_str(), told.is_recorded), ("store, None", false));
    gate.open();
    assert_eq!(test.at_rest().await, []);
}

/// Its session has woken meanwhile, and the call runs anew under the same id.
#[tokio::test]
async fn a_late_reader_whose_end_is_not_recorded_leaves_its_call_to_its_session() {
    for end in [End::Echo, End::Panic("late")] {
        let gate = Gate::new();
        let tool = hasty(FakeTool::read("look")).gate(&gate).end(end.clone());
        let test = TestRuntime::new([tool]).await;
        let proposed = test.not_begun("look", "{}").await;
        step(&test, &proposed, proposed.request.proposal()).await;
        let row = test.ledger().await.remove(0);
        let store = test.store.clone();
        let goes_on = |request: &mut DispatchRequest| {
            let news = request.news.clone();
            let ledger_row = Some(Box::new(row.clone()));
            *request = DispatchRequest { news, ledger_row, ..(*proposed.request).clone() };
            store.fail_next_begin();
        };
        let mut call = test.begin_with("look", "{}", goes_on).await;
        assert!(!call.end().await.is_recorded);
        gate.open();
        test.context.tasks.close();
        in_time(test.context.tasks.wait()).await;
        assert_eq!(test.ledger().await, [row], "{end:?}");
    }
}

#[tokio::test]
async fn a_lost_call_has_an_unknown_effect_only_if_it_had_begun_and_could_leave_a_trace() {
    let tools = [
        FakeTool::read("read"),
        FakeTool::read_store("look"),
        FakeTool::transactional("save"),
        FakeTool::write("post"),
        FakeTool::destructive("mail").asks(|_| false),
    ];
    let test = TestRuntime::new(tools).await;
    test.call("read", "{}").await;
    let row = test.at_rest().await.remove(0);
    let end = |row: &LedgerRow| {
        let end = ends_of_lost(&test.handles.calls, &[row], Locale::EN).remove(0);
        let word = match end.outcome {
            ToolOutcome::Err(error) => error.code.into_owned(),
            ToolOutcome::Cancelled(cancelled) => cancelled.reason.name().to_owned(),
            ToolOutcome::Ok(_) => "ok".to_owned(),
        };
        (word, end.effect)
    };
    let told = |word: &str, effect| (word.to_owned(), effect);
    for (name, begun) in [
        ("read", Effect::None),
        ("look", Effect::None),
        ("save", Effect::None),
        ("post", Effect::Unknown),
        ("mail", Effect::Unknown),
        ("a tool that is not there any more", Effect::Unknown),
    ] {
        let in_state = |state| end(&LedgerRow { name: name.into(), state, ..row.clone() });
        // The ledger has the beginning of what leaves a trace, so without it nothing of that began.
        let word = if begun == Effect::None { "handler_error" } else { "withdrawn" };
        for state in [CallState::Proposed, CallState::Approved] {
            assert_eq!(in_state(state), told(word, Effect::None), "{name} {state:?}");
        }
        assert_eq!(in_state(CallState::Awaiting), told("withdrawn", Effect::None), "{name}");
        assert_eq!(in_state(CallState::Running), told("handler_error", begun), "{name}");
    }
}

#[tokio::test]
async fn of_the_calls_of_a_round_only_the_first_and_reads_beside_it_may_have_begun() {
    let tools = [FakeTool::read("read"), FakeTool::transactional("save")];
    let test = TestRuntime::new(tools).await;
    test.call("read", "{}").await;
    let row = test.at_rest().await.remove(0);
    for (round, began) in [
        (["read", "read", "read"].as_slice(), 3),
        (&["read", "read", "save", "read"], 2),
        (&["save", "read"], 1),
        (&["save", "save"], 1),
    ] {
        let state = CallState::Proposed;
        let proposed = |name: &&str| LedgerRow { name: (*name).into(), state, ..row.clone() };
        let rows: Vec<_> = round.iter().map(proposed).collect();
        let ends = ends_of_lost(&test.handles.calls, &rows.iter().collect::<Vec<_>>(), Locale::EN);
        let failed = ends.iter().map(|end| matches!(end.outcome, ToolOutcome::Err(_)));
        let expected = (0..round.len()).map(|index| index < began);
        assert!(failed.eq(expected), "{round:?}: {ends:?}");
    }
}

/// Reads for ever, and holds the only permit of a channel until it is dropped.
#[derive(Debug)]
struct Endless {
    spec: ToolSpec,
    gate: Gate,
    sender: mpsc::Sender<()>,
}

impl Tool for Endless {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        Some(Need::Reader(ConnectionType::of::<MemoryConnection>()))
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: Prepared,
        _: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async {
            let _held = self.sender.reserve().await;
            self.gate.pass().await;
            Ok(ToolOutcome::ok(json!({})))
        })
    }
}

#[tokio::test]
async fn a_reader_returns_its_connection_at_its_deadline_though_the_store_takes_nothing() {
    let (sender, _heard) = mpsc::channel(1);
    let spec = ToolSpec::new("look", "Looks.", json!({ "type": "object" }));
    let spec = spec.effect(EffectPolicy::Read).timeout(SHORT);
    let gate = Gate::new();
    let test = TestRuntime::of(Endless { spec, gate: gate.clone(), sender: sender.clone() }).await;
    let mut call = test.not_begun("look", "{}").await;
    let paused = test.store.pause().await;
    test.dispatch(&call);
    in_time(gate.arrived(1)).await;
    let _ = in_time(sender.reserve()).await.unwrap();
    drop(paused);
    assert_eq!(kind(&call.end().await), "timeout, None");
    test.at_rest().await;
}
