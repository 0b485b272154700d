//! What counts at one moment of the day: an approval until it expires, a step if another was taken
//! at the same time.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::going_on::{approved, asked, mailing};
use crate::{
    dispatcher::{
        CallContext, CancelCause, DispatchRequest,
        authorize::authorize,
        check::check,
        not_run::NotRun,
        record::Record,
        run::{Holds, Ran, run},
    },
    mailbox::Recipient,
    port::{Clock, LedgerRow},
    protocol::{Decision, Effect, OnDismiss, Timestamp, ToolOutcome},
    test_runtime::{OneCall, TestRuntime, in_time, kind},
    testing::{FakeTool, Gate},
};

/// A clock that stands still.
#[derive(Debug)]
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// The same surroundings at this moment.
fn stopped(test: &TestRuntime, at: Timestamp) -> Arc<CallContext> {
    let context = &*test.handles.calls;
    Arc::new(CallContext::new(
        context.registry.clone(),
        context.limits.clone(),
        context.store.clone(),
        context.confirm.clone(),
        Arc::new(Stopped(at)),
        context.extensions.clone(),
        context.tasks.clone(),
    ))
}

/// How a call with this row of the ledger ends without its handler, if it does.
async fn ends_instead(
    context: &Arc<CallContext>,
    call: &OneCall,
    row: &LedgerRow,
    change: impl FnOnce(&mut DispatchRequest),
) -> Option<ToolOutcome> {
    let ledger_row = Some(Box::new(row.clone()));
    let old = DispatchRequest::clone(&call.request);
    let mut request = DispatchRequest { ledger_row, cancellation: Default::default(), ..old };
    change(&mut request);
    let request = Arc::new(request);
    let mut record = Record::new(context.clone(), request.clone());
    let checked = check(request, context).unwrap();
    match authorize(checked, &mut record, context).await {
        Ok(_) => None,
        Err((_, NotRun::Ends { finished, .. })) => Some(finished.outcome),
        Err((_, NotRun::Left)) => panic!("news leaves it"),
    }
}

fn word(outcome: Option<ToolOutcome>) -> Option<String> {
    outcome.map(|outcome| match outcome {
        ToolOutcome::Ok(_) => "ok".into(),
        ToolOutcome::Err(error) => error.code.into(),
        ToolOutcome::Cancelled(cancelled) => cancelled.reason.name().into(),
    })
}

#[tokio::test]
async fn an_approval_counts_until_the_moment_when_it_expires_and_not_at_it() {
    let (test, _, _, call, row) = approved().await;
    let end = row.expires_at.unwrap().millis();
    for (at, expected) in [(end - 1, None), (end, Some("overloaded"))] {
        let context = stopped(&test, Timestamp::from_millis(at));
        let ended = word(ends_instead(&context, &call, &row, |_| {}).await);
        assert_eq!(ended.as_deref(), expected);
    }
}

/// The turn may be given up between the call's first step and its second.
#[tokio::test]
async fn what_goes_on_and_is_dismissed_just_then_says_whether_a_person_was_being_asked() {
    let (test, _) = mailing().await;
    let (call, row) = asked(&test).await;
    let stop = |request: &mut DispatchRequest| {
        request.cancellation.cancel(CancelCause::Dismissed(OnDismiss::Stop));
    };
    let ended = word(ends_instead(&test.handles.calls, &call, &row, stop).await);
    assert_eq!(ended.as_deref(), Some("dismissed"));
    let (test, _, _, call, row) = approved().await;
    let ended = word(ends_instead(&test.handles.calls, &call, &row, stop).await);
    assert_eq!(ended.as_deref(), Some("withdrawn"));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_was_lost_is_not_taken_for_the_step_before_it_of_the_same_moment() {
    let gate = Gate::new();
    let test = TestRuntime::new([FakeTool::write("mail").gate(&gate)]).await;
    let call = test.not_begun("mail", "{}").await;
    let context = stopped(&test, Timestamp::from_millis(7));
    let mut record = Record::new(context.clone(), call.request.clone());
    let checked = check(call.request.clone(), &context).unwrap();
    let authorized = authorize(checked, &mut record, &context).await.unwrap();
    let (early, mut told) = mpsc::unbounded_channel();
    let early = Recipient::channel(early);
    let mut holds = Holds::default();
    let running = run(&authorized, &mut record, &context, &early, &mut holds);
    let loses = async {
        in_time(gate.arrived(1)).await;
        test.store.lose_next_commit();
        gate.open();
    };
    let (ran, ()) = tokio::join!(running, loses);
    assert!(matches!(ran, Ok(Ran::Late(None))), "{ran:?}");
    let end = told.try_recv().unwrap();
    assert_eq!((kind(&end).as_str(), end.is_recorded), ("store, Unknown", false));
    assert_eq!(test.ledger().await[0].effect, Some(Effect::Committed), "it was written later");
}

/// Its end is recorded behind it: another call on the same resource must not be recorded before,
/// nor a person resolve it.
#[tokio::test]
async fn a_call_that_could_not_begin_holds_what_it_took_until_its_end_is_recorded() {
    let test = TestRuntime::new([FakeTool::write("mail")]).await;
    let call = test.not_begun("mail", "{}").await;
    let context = stopped(&test, Timestamp::from_millis(7));
    let mut record = Record::new(context.clone(), call.request.clone());
    let checked = check(call.request.clone(), &context).unwrap();
    let authorized = authorize(checked, &mut record, &context).await.unwrap();
    test.store.fail_next_commit();
    let early = Recipient::discard();
    let mut holds = Holds::default();
    let not_run = in_time(run(&authorized, &mut record, &context, &early, &mut holds)).await;
    assert!(matches!(not_run, Err(NotRun::Ends { .. })), "{not_run:?}");
    let id = call.request.call.id;
    assert!(context.is_running(id));
    drop(holds);
    assert!(!context.is_running(id));
}

/// A person says "always" about this call.
async fn always(test: &TestRuntime, context: &Arc<CallContext>, call: &mut OneCall) {
    let mut record = Record::new(context.clone(), call.request.clone());
    let checked = check(call.request.clone(), context).unwrap();
    let says = async {
        let request = call.approval_request().await;
        test.decide(&request, Decision::ApproveAlways).await.unwrap();
    };
    let (authorized, ()) = tokio::join!(authorize(checked, &mut record, context), says);
    assert!(authorized.is_ok());
}

#[tokio::test]
async fn in_the_moment_in_which_a_standing_approval_ends_another_one_can_hold() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let mut calls = Vec::new();
    for seq in 1..=3 {
        let mut call = test.not_begun("mail", "{}").await;
        if let Some(OneCall { request: first, .. }) = calls.first() {
            let session = first.session.clone();
            let turn = first.turn;
            let request = Arc::make_mut(&mut call.request);
            (request.session, request.turn, request.seq) = (session, turn, seq);
        }
        calls.push(call);
    }
    let begins = Timestamp::from_millis(7);
    let ends = begins.after(test.handles.calls.limits.standing_approval_lifetime);
    always(&test, &stopped(&test, begins), &mut calls[0]).await;
    let context = stopped(&test, ends);
    always(&test, &context, &mut calls[1]).await;
    let call = &mut calls[2];
    let mut record = Record::new(context.clone(), call.request.clone());
    let checked = check(call.request.clone(), &context).unwrap();
    tokio::select! {
        authorized = authorize(checked, &mut record, &context) => assert!(authorized.is_ok()),
        request = call.approval_request() => panic!("the second one covers it: {request:?}"),
    }
}
