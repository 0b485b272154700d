//! What an approval is bound to on its way to the handler: what would run is hashed again, in time,
//! once.

use serde_json::{Value, json};

use super::{LONG_ENOUGH, SHORT, runtime_with};
use crate::{
    approval::{self, ConfirmMsg},
    dispatcher::{
        authorize::authorize,
        check::check,
        record::Record,
        run::{Holds, Ran, run},
    },
    ledger::{CallState, Transition},
    mailbox::{Address, Recipient},
    port::Store,
    protocol::{Approval, ApprovalRequest, Decision, DecisionError, Limits},
    test_runtime::{OneCall, TestRuntime, in_time, kim, kind},
    testing::{FakeTool, Gate, ScriptedModel},
};

fn tools() -> Vec<FakeTool> {
    vec![
        FakeTool::destructive("mail"),
        FakeTool::destructive_transactional("save"),
        FakeTool::write("post"),
        FakeTool::transactional("note"),
        FakeTool::read("look"),
    ]
}

/// Checks and authorizes a call by hand, swaps its arguments without another check, and runs it.
async fn swapped(
    test: &TestRuntime,
    call: &mut OneCall,
    decision: Decision,
    planted: Value,
) -> String {
    let context = test.handles.calls.clone();
    let mut record = Record::new(context.clone(), call.request.clone());
    let checked = check(call.request.clone(), &context).unwrap();
    let asks = ["mail", "save"].contains(&&*call.request.call.name);
    let answered = async {
        if asks {
            let request = call.approval_request().await;
            test.decide(&request, decision).await.unwrap();
        }
    };
    let (authorized, ()) = tokio::join!(authorize(checked, &mut record, &context), answered);
    let mut authorized = authorized.unwrap();
    authorized.plant(planted);
    let early = Recipient::discard();
    let mut holds = Holds::default();
    let end = run(&authorized, &mut record, &context, &early, &mut holds).await;
    let Ok(Ran::Ended(end)) = end else { panic!("the call ends in time") };
    kind(&end)
}

#[tokio::test]
async fn arguments_that_were_swapped_after_the_check_or_the_approval_are_not_run() {
    let tools = tools();
    let runs: Vec<_> = tools.iter().map(FakeTool::runs).collect();
    let test = TestRuntime::new(tools).await;
    for tool in ["mail", "save", "post", "note", "look"] {
        let mut call = test.not_begun(tool, r#"{"to":"kim"}"#).await;
        let told = swapped(&test, &mut call, Decision::Approve, json!({ "to": "all" })).await;
        assert_eq!(told, "handler_error, None", "{tool}");
    }
    // The same arguments in another order are the same.
    let mut call = test.not_begun("mail", r#"{"a":1,"b":2}"#).await;
    let same = swapped(&test, &mut call, Decision::Approve, json!({ "b": 2, "a": 1 })).await;
    assert_eq!(same, "ok, Committed");
    let edit = Decision::Edit { arguments: json!({ "to": "lee" }) };
    let mut call = test.not_begun("mail", r#"{"to":"kim"}"#).await;
    let back = swapped(&test, &mut call, edit, json!({ "to": "kim" })).await;
    assert_eq!(back, "handler_error, None", "what was asked is not what the user typed");

    assert_eq!(runs.iter().map(crate::testing::Runs::count).sum::<usize>(), 1);
    assert!(test.store.connection().values().is_empty());
    let rows = test.at_rest().await;
    for row in &rows[..2] {
        assert_eq!(
            row.arguments,
            json!({ "to": "kim" }).into(),
            "the ledger has what was approved"
        );
        let (links, _) = test.store.links(&row.session).await.unwrap();
        let ran = links.iter().any(|link| matches!(link.transition, Transition::Running { .. }));
        assert!(!ran, "{links:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_waits_for_a_permit_no_longer_than_it_counts() {
    let stuck = Gate::new();
    let tool = FakeTool::destructive("mail").gate(&stuck).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let test = runtime_with(|limits| limits.approval_timeout = LONG_ENOUGH, vec![tool]).await;
    let mut first = test.begin("mail", "{}").await;
    let request = first.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    in_time(stuck.arrived(1)).await;
    let mut second = test.begin("mail", "{}").await;
    let request = second.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    assert_eq!(kind(&second.end().await), "overloaded, None");
    stuck.open();
    assert_eq!(kind(&first.end().await), "ok, Committed");
    assert_eq!(runs.count(), 1);
    test.at_rest().await;
}

/// Without the dispatcher's own look at the time the store still refuses, and a transactional
/// handler is undone.
#[tokio::test]
async fn an_approval_that_expires_while_a_handler_runs_in_the_transaction_leaves_nothing() {
    let gate = Gate::new();
    let tool = FakeTool::destructive_transactional("save").gate(&gate);
    let change = |limits: &mut Limits| {
        limits.approval_timeout = LONG_ENOUGH;
        limits.transaction_deadline = super::PATIENCE;
    };
    let test = runtime_with(change, vec![tool]).await;
    let mut call = test.begin("save", "{}").await;
    let request = call.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    in_time(gate.arrived(1)).await;
    let clock = &test.handles.calls.clock;
    let expires_at = test.ledger().await[0].expires_at.unwrap();
    while clock.now() < expires_at {
        tokio::time::sleep(SHORT).await;
    }
    gate.open();
    assert_eq!(kind(&call.end().await), "overloaded, None");
    assert!(test.store.connection().values().is_empty());
    test.at_rest().await;
}

/// Whatever dies in between: of many answers one counts at most, and the ledger says the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_in_a_storm_of_kills_have_one_winner_at_most() {
    let limits = Limits { max_restarts: 10_000, ..Limits::default() };
    let test =
        TestRuntime::with(limits, ScriptedModel::new([]), [FakeTool::destructive("mail")]).await;
    for round in 0..60 {
        let mut call = test.begin("mail", "{}").await;
        let request = call.approval_request().await;
        let answers = [Decision::Approve, Decision::Deny, Decision::Approve].map(|decision| {
            let (confirm, limits) =
                (test.handles.confirm.clone(), test.handles.calls.limits.clone());
            let request = request.clone();
            tokio::spawn(async move {
                // An answer that was lost is given again, as a person would.
                loop {
                    match decide(&confirm, &request, decision.clone(), &limits).await {
                        Err(DecisionError::NotKnown | DecisionError::NotRecorded) => {
                            tokio::task::yield_now().await;
                        }
                        counts => return (decision, counts),
                    }
                }
            })
        });
        if round % 3 != 0 {
            test.handles.confirm.actor().kill();
        }
        let mut winners = Vec::new();
        let mut tries = 0;
        for answer in answers {
            match in_time(answer).await.unwrap() {
                (decision, Ok(())) => winners.push(decision),
                (_, Err(DecisionError::NotOpen)) => tries += 1,
                (decision, Err(error)) => panic!("{decision:?}: {error}"),
            }
        }
        assert!(winners.len() <= 1, "{winners:?}");
        if winners.is_empty() {
            // All came while no actor held the question: it is open again.
            assert_eq!(tries, 3);
            while test.decide(&request, Decision::Deny).await.is_err() {
                tokio::task::yield_now().await;
                if test.ledger().await.last().unwrap().state == CallState::Ended {
                    break;
                }
            }
        }
        let end = call.end().await;
        let row = test.ledger().await.pop().unwrap();
        match winners.first() {
            Some(Decision::Approve) => {
                assert_eq!(kind(&end), "ok, Committed");
                assert_eq!(row.approval, Some(Approval::Once));
            }
            Some(_) | None => assert!(row.decided_by == Some(kim()), "{row:?}"),
        }
    }
    test.at_rest().await;
}

async fn decide(
    confirm: &Address<ConfirmMsg>,
    request: &ApprovalRequest,
    decision: Decision,
    limits: &Limits,
) -> Result<(), DecisionError> {
    let ApprovalRequest { call, digest, user, .. } = request;
    approval::decide(confirm, user, *call, *digest, decision, limits).await
}

#[tokio::test]
async fn of_a_decision_and_a_dismissal_of_an_open_request_only_the_first_counts() {
    let tools = tools();
    let runs = tools[0].runs();
    let test = TestRuntime::new(tools).await;
    let mut call = test.begin("mail", "{}").await;
    let request = call.approval_request().await;
    assert!(call.request.cancellation.forbid_decision(), "no decision has come");
    let late = test.decide(&request, Decision::Approve).await;
    assert_eq!(late, Err(DecisionError::NotOpen));
    assert_eq!((kind(&call.end().await), runs.count()), ("dismissed, None".to_owned(), 0));

    let mut call = test.begin("mail", "{}").await;
    let request = call.approval_request().await;
    let paused = test.store.pause().await;
    let dismisses = async {
        // The decision has won, and is on its way to the store.
        while !call.request.cancellation.is_decided() {
            tokio::task::yield_now().await;
        }
        assert!(!call.request.cancellation.forbid_decision(), "it came first");
        drop(paused);
    };
    let (decided, ()) = tokio::join!(test.decide(&request, Decision::Approve), in_time(dismisses));
    decided.unwrap();
    assert_eq!((kind(&call.end().await), runs.count()), ("ok, Committed".to_owned(), 1));
}
