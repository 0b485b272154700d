//! What comes before a handler is given the transaction: its slow work, and the wait for the
//! transaction itself.

use serde_json::{Map, Value, json};

use super::{DispatcherEvent, SHORT};
use crate::{
    dispatcher::CancelCause::{self, Dismissed},
    ledger::CallState,
    port::{
        Access, BoxFuture, ConnectionType, Need, Prepared, Tool, ToolContext, ToolFault, ToolResult,
    },
    protocol::{
        Decision, Effect, EffectPolicy, Fault, Locale, MAX_LEVELS, OnDismiss, Text, ToolErr,
        ToolOutcome, ToolSpec,
    },
    test_runtime::{OneCall, TestRuntime, in_time, kind},
    testing::{Gate, MemoryConnection},
};

/// Waits at its gate before it takes the transaction, or finds a rule broken there.
#[derive(Debug)]
struct Slow {
    spec: ToolSpec,
    gate: Gate,
    broken: Option<ToolErr>,
}

impl Slow {
    fn new(effect: EffectPolicy) -> Self {
        let spec = ToolSpec::new("save", "Saves.", json!({ "type": "object" })).effect(effect);
        Self { spec, gate: Gate::new(), broken: None }
    }
}

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        Some(Need::Transaction(ConnectionType::of::<MemoryConnection>()))
    }

    fn prepare<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        Box::pin(async {
            if let Some(broken) = self.broken.clone() {
                return Err(ToolFault::Rule(broken));
            }
            self.gate.pass().await;
            Ok(Prepared::default())
        })
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        _: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async { Ok(ToolOutcome::ok(arguments)) })
    }
}

/// A call that has all that it needs but the transaction, which another has until it is told to
/// end.
async fn waiting(effect: EffectPolicy, cause: CancelCause) -> (TestRuntime, OneCall) {
    let tool = Slow::new(effect);
    let gate = tool.gate.clone();
    let test = TestRuntime::of(tool).await;
    let mut call = test.begin("save", r#"{"page":3}"#).await;
    if effect == EffectPolicy::Destructive {
        let request = call.approval_request().await;
        test.decide(&request, Decision::Approve).await.unwrap();
    }
    in_time(gate.arrived(1)).await;
    let held = test.handles.store.lease("another".into()).await.unwrap();
    gate.open();
    in_time(async {
        while test.handles.store.waiting().await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    call.cancel(cause);
    drop(held);
    (test, call)
}

#[tokio::test]
async fn what_waits_for_the_transaction_does_not_begin_for_a_turn_that_is_over() {
    let (test, mut call) = waiting(EffectPolicy::Write, Dismissed(OnDismiss::Stop)).await;
    let end = call.end().await;
    assert_eq!(kind(&end), "withdrawn, None");
    assert_eq!(end.record.arguments, json!({ "page": 3 }).into());
    assert_eq!(test.at_rest().await[0].arguments, end.record.arguments);
    let (test, mut call) = waiting(EffectPolicy::Write, CancelCause::Suspended).await;
    let left = call.next().await;
    assert!(matches!(left, DispatcherEvent::Left { .. }), "{left:?}");
    assert_eq!(test.ledger().await, [], "it goes on after the next start");
}

#[tokio::test]
async fn a_yes_waits_for_the_next_start_if_the_runtime_closes_before_its_transaction() {
    let (test, mut call) = waiting(EffectPolicy::Destructive, CancelCause::Suspended).await;
    let decided = call.next().await;
    assert!(matches!(decided, DispatcherEvent::ApprovalEnded { .. }), "{decided:?}");
    let left = call.next().await;
    assert!(matches!(left, DispatcherEvent::Left { .. }), "{left:?}");
    let states: Vec<_> = test.ledger().await.iter().map(|row| row.state).collect();
    assert_eq!(states, [CallState::Approved]);
}

#[tokio::test]
async fn a_yes_told_to_count_is_run_though_its_turn_ends_before_it_gets_the_transaction() {
    let (test, mut call) = waiting(EffectPolicy::Destructive, Dismissed(OnDismiss::Stop)).await;
    assert_eq!(kind(&call.end().await), "discarded, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn what_waits_for_the_transaction_gets_it_in_a_turn_that_goes_on_without_its_user() {
    let (test, mut call) = waiting(EffectPolicy::Write, Dismissed(OnDismiss::Finish)).await;
    assert_eq!(kind(&call.end().await), "discarded, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn slow_work_that_passes_its_deadline_before_the_transaction_says_it_did_nothing() {
    let mut tool = Slow::new(EffectPolicy::Write);
    tool.spec = tool.spec.timeout(SHORT);
    let test = TestRuntime::of(tool).await;
    let end = test.call("save", "{}").await;
    let told = Text::TimedOut { seconds: SHORT.as_secs_f64(), effect: Effect::None };
    let told = ToolOutcome::error("timeout", told.in_locale(Locale::EN));
    assert_eq!((end.record.outcome, end.record.effect), (Some(told), Effect::None));
    test.at_rest().await;
}

#[tokio::test]
async fn a_rule_that_is_found_broken_before_the_transaction_is_recorded_or_is_a_fault() {
    let fault = Text::HandlerFailed(&Fault::SERIALIZE).in_locale(Locale::EN);
    let deep = (1..=MAX_LEVELS).fold(json!([]), |inner, _| json!([inner]));
    let long = "x".repeat(5 << 20);
    let rule = |reason: &str, at: Value| ToolErr {
        code: "r1".into(),
        reason: reason.to_owned(),
        metadata: Map::from_iter([("at".to_owned(), at)]),
    };
    for (broken, expected, reason) in [
        (rule("three already", json!(3)), "r1, None", "three already"),
        (rule("three already", deep), "handler_error, None", &*fault),
        (rule(&long, json!(3)), "handler_error, None", &fault),
    ] {
        let tool = Slow { broken: Some(broken), ..Slow::new(EffectPolicy::Write) };
        let test = TestRuntime::of(tool).await;
        let end = test.call("save", "{}").await;
        assert_eq!((&*kind(&end), end.is_recorded), (expected, true));
        let Some(ToolOutcome::Err(told)) = end.record.outcome else { panic!("it is refused") };
        assert_eq!(told.reason, reason);
        test.at_rest().await;
    }
}
