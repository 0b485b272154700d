//! "Always for this tool in this session": what it covers, how long, and that it is recorded.

use std::time::Duration;

use madang::{Asks, Limits, OnDismiss, Session, TurnOptions, approval::Decision, ledger::Approval};
use madang_testing::{MemoryStore, Probe};
use serde_json::json;

use super::{Gate, Version, named};

/// A session of Kim's in which `save` needs no question any more.
async fn given() -> Gate {
    given_on(Limits::default()).await
}

async fn given_on(limits: Limits) -> Gate {
    given_in(Gate::with(limits, MemoryStore::new(), Version::First).await).await
}

async fn given_in(mut gate: Gate) -> Gate {
    let turn = gate.turn(&[("save", named("first"))]).await;
    let request = gate.approval_request().await;
    gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
    gate.told(turn).await;
    gate
}

/// Whether a call of this tool asks. Where it does, the answer is no.
async fn asks(gate: &mut Gate, tool: &str) -> bool {
    asks_about(gate, tool, "later").await
}

/// The same of a call about this row.
async fn asks_about(gate: &mut Gate, tool: &str, row: &str) -> bool {
    let mut probe = Probe::new(gate.session.subscribe());
    let turn = gate.turn(&[(tool, named(row))]).await;
    let request = tokio::select! {
        request = probe.approval_request() => request,
        completion = gate.script.next() => {
            completion.say("Well.");
            turn.ended().await.unwrap();
            return false;
        }
    };
    gate.session.decide(&request, Decision::Deny).await.unwrap();
    gate.told(turn).await;
    true
}

async fn tools(session: &Session) -> Vec<String> {
    session
        .standing_approvals()
        .await
        .unwrap()
        .iter()
        .map(|standing| standing.tool.to_string())
        .collect()
}

#[tokio::test]
async fn the_tool_runs_without_a_question_and_each_call_has_an_approval_of_its_own() {
    let mut gate = given().await;
    let [first] = &gate.session.standing_approvals().await.unwrap()[..] else {
        panic!("one standing approval")
    };
    let first = first.clone();
    assert_eq!((&*first.tool, first.user.as_str(), first.session.as_str()), ("save", "kim", "s"));
    assert!(!asks(&mut gate, "save").await);
    assert_eq!(gate.saved(), ["first", "later"]);
    let row = gate.row().await;
    let by_call = first.call;
    let schema = first.schema;
    let approval = Approval::Standing { by_call, schema, resource: None, number: 1 };
    assert_eq!((row.approval, row.decided_by.as_ref()), (Some(approval), Some(&first.user)));
    assert!(row.approved_at >= Some(first.at) && row.digest.is_some());
    assert_eq!(tools(&gate.session).await, ["save"], "what rests on it is none itself");
    assert_eq!(gate.entry().await.approval, Some(approval), "the transcript says it too");
    gate.shutdown().await;
}

#[tokio::test]
async fn another_tool_and_another_session_ask() {
    let mut gate = given().await;
    assert!(asks(&mut gate, "erase").await);
    gate.session = gate.runtime.user("kim").unwrap().session("another").await.unwrap();
    assert_eq!(tools(&gate.session).await, <[String; 0]>::default());
    assert!(asks(&mut gate, "save").await);
    gate.session = gate.runtime.user("lee").unwrap().session("third").await.unwrap();
    assert!(asks(&mut gate, "save").await);
    gate.shutdown().await;
}

#[tokio::test]
async fn it_survives_sleep_and_a_restart_and_a_tool_that_has_changed_asks_again() {
    let limits = Limits { session_idle: Duration::ZERO, ..Limits::default() };
    let mut gate = given_on(limits).await;
    // Between these it sleeps as often as not: it is idle at once.
    for _ in 0..20 {
        assert!(!asks(&mut gate, "save").await);
        tokio::task::yield_now().await;
    }
    let store = gate.shutdown().await;

    let mut gate = Gate::with(Limits::default(), store, Version::First).await;
    assert_eq!(tools(&gate.session).await, ["save"]);
    assert!(!asks(&mut gate, "save").await);
    let store = gate.shutdown().await;

    let mut gate = Gate::with(Limits::default(), store, Version::Second).await;
    assert!(asks(&mut gate, "save").await);
    let store = gate.shutdown().await;

    let mut gate = Gate::with(Limits::default(), store, Version::First).await;
    assert!(!asks(&mut gate, "save").await, "it is the schema that counts");
    gate.shutdown().await;
}

#[tokio::test]
async fn revoked_it_asks_again_and_can_be_given_again() {
    let mut gate = given().await;
    gate.session.revoke("erase").await.unwrap();
    assert!(!asks(&mut gate, "save").await);
    gate.session.revoke("save").await.unwrap();
    gate.session.revoke("save").await.unwrap();
    assert_eq!(tools(&gate.session).await, <[String; 0]>::default());
    assert!(asks(&mut gate, "save").await);
    let turn = gate.turn(&[("save", named("again"))]).await;
    let request = wait_for_question(&gate.session).await;
    gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
    gate.told(turn).await;
    assert!(!asks(&mut gate, "save").await);
    gate.shutdown().await;
}

#[tokio::test]
async fn after_32_uses_it_asks_again_and_can_be_given_again() {
    let mut gate = given().await;
    let [standing] = &gate.session.standing_approvals().await.unwrap()[..] else {
        panic!("one standing approval")
    };
    assert_eq!(standing.uses, 32);
    for number in 1..=32 {
        assert!(!asks(&mut gate, "save").await, "use {number}");
        let Some(Approval::Standing { number: its, .. }) = gate.row().await.approval else {
            panic!("use {number} rests on it")
        };
        assert_eq!(its, number, "each use has a number of its own");
    }
    for _ in 0..2 {
        assert!(asks(&mut gate, "save").await, "it is used up");
    }
    let turn = gate.turn(&[("save", named("again"))]).await;
    let request = wait_for_question(&gate.session).await;
    gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
    gate.told(turn).await;
    assert!(!asks(&mut gate, "save").await, "the new one counts from its beginning");
    gate.shutdown().await;
}

#[tokio::test]
async fn after_24_hours_by_the_clock_it_asks_again() {
    const MINUTE: Duration = Duration::from_secs(60);
    let mut gate = given().await;
    let [standing] = &gate.session.standing_approvals().await.unwrap()[..] else {
        panic!("one standing approval")
    };
    let day = 24 * 60 * MINUTE;
    assert_eq!(standing.until, standing.at.after(day));
    gate.watch.forward(day - 10 * MINUTE);
    assert!(!asks(&mut gate, "save").await, "it is the same day");
    gate.watch.forward(10 * MINUTE);
    assert!(asks(&mut gate, "save").await, "it is over");
    let store = gate.shutdown().await;

    // Nor does a restart bring it back.
    let mut gate = Gate::with(Limits::default(), store, Version::First).await;
    gate.watch.forward(day);
    assert!(asks(&mut gate, "save").await);
    gate.shutdown().await;
}

#[tokio::test]
async fn where_the_tool_names_what_it_works_on_it_covers_that_alone() {
    let mut gate = Gate::new().await;
    let turn = gate.turn(&[("sign", named("later"))]).await;
    let request = gate.approval_request().await;
    gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
    gate.told(turn).await;
    assert!(!asks(&mut gate, "sign").await, "the same again");
    for row in ["another", "nothing"] {
        assert!(asks_about(&mut gate, "sign", row).await, "{row}");
    }
    assert!(!asks(&mut gate, "sign").await, "it still stands");
    gate.shutdown().await;
}

/// Clearing is the user's fresh start, and a fresh start asks.
#[tokio::test]
async fn clearing_the_chat_ends_it() {
    let mut gate = given().await;
    assert!(!asks(&mut gate, "save").await);
    gate.session.clear().await.unwrap();
    assert_eq!(tools(&gate.session).await, <[String; 0]>::default());
    assert!(asks(&mut gate, "save").await);
    gate.shutdown().await;
}

#[tokio::test]
async fn a_clearing_whose_reply_is_lost_is_told_as_it_happened() {
    let gate = given().await;
    gate.store.lose_next_commit_reply();
    gate.session.clear().await.unwrap();
    assert_eq!(tools(&gate.session).await, <[String; 0]>::default());
    assert!(gate.session.state().await.unwrap().messages.is_empty());

    let gate = given().await;
    gate.store.fail_next_commit();
    assert!(gate.session.clear().await.is_err());
    assert_eq!(tools(&gate.session).await, ["save"], "nothing of it happened");
    assert!(!gate.session.state().await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn an_end_of_it_whose_reply_is_lost_is_told_as_it_happened() {
    let gate = given().await;
    gate.store.lose_next_commit_reply();
    gate.session.revoke("save").await.unwrap();
    assert_eq!(tools(&gate.session).await, <[String; 0]>::default());

    let gate = given().await;
    gate.store.fail_next_commit();
    assert!(gate.session.revoke("save").await.is_err());
    assert_eq!(tools(&gate.session).await, ["save"], "nothing of it happened");
}

#[tokio::test]
async fn a_session_that_was_created_is_opened_though_the_stores_reply_was_lost() {
    let gate = given().await;
    gate.store.lose_next_commit_reply();
    let session = gate.runtime.user("lee").unwrap().session("new").await.unwrap();
    assert!(session.state().await.unwrap().messages.is_empty());
}

/// The user gave it where a person can be asked; it holds where none can. A closed screen is
/// another matter: no person sees its effects there.
#[tokio::test]
async fn it_covers_a_turn_in_which_no_person_can_be_asked_but_not_one_that_was_dismissed() {
    let mut gate = given().await;
    let unattended = TurnOptions { asks: Asks::Nobody, ..TurnOptions::default() };
    let turn = gate.turn_with(unattended, &[("save", named("b")), ("erase", named("c"))]).await;
    let (_, envelope) = gate.told(turn).await;
    assert_eq!(envelope["reason"], "nobody could be asked to confirm", "the other tool");
    assert_eq!(gate.saved(), ["b", "first"]);

    let finish = TurnOptions { on_dismiss: OnDismiss::Finish, ..TurnOptions::default() };
    let turn = gate.session.send_with("go", finish).await.unwrap();
    let completion = gate.script.next().await;
    gate.session.dismiss().await.unwrap();
    let call = crate::support::wanted("save", &named("d"));
    completion.finish(madang::model::Completion { tool_calls: vec![call], ..Default::default() });
    let (_, envelope) = gate.told(turn).await;
    assert_eq!(
        envelope,
        json!({ "status": "cancelled", "reason": "the user left before answering" })
    );
    assert_eq!(gate.saved(), ["b", "first"]);
    gate.shutdown().await;
}

/// A revocation beside calls that rest on it: each call either ran before it or asked after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_revocation_and_a_call_at_once_one_comes_first() {
    let mut gate = Gate::new().await;
    for round in 0..40 {
        let turn = gate.turn(&[("save", named("first"))]).await;
        let request = wait_for_question(&gate.session).await;
        gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
        gate.told(turn).await;

        let session = gate.session.clone();
        let revoked = tokio::spawn(async move { session.revoke("save").await });
        let asked = asks(&mut gate, "save").await;
        revoked.await.unwrap().unwrap();
        let row = gate.row().await;
        assert_eq!(asked, row.approval.is_none(), "round {round}: {row:?}");
        assert_eq!(tools(&gate.session).await, <[String; 0]>::default());
    }
    gate.shutdown().await;
}

async fn wait_for_question(session: &Session) -> madang::approval::ApprovalRequest {
    loop {
        if let Some(request) = session.state().await.unwrap().approval_request {
            return request;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn after_24_hours_it_can_be_given_again_and_the_new_one_holds() {
    let mut gate = given().await;
    gate.watch.forward(Duration::from_secs(24 * 60 * 60));
    let turn = gate.turn(&[("save", named("again"))]).await;
    let request = wait_for_question(&gate.session).await;
    gate.session.decide(&request, Decision::ApproveAlways).await.unwrap();
    gate.told(turn).await;
    assert!(!asks(&mut gate, "save").await, "the one that is over does not count");
    gate.shutdown().await;
}
