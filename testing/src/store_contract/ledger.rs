//! Promises about tool calls.

use std::sync::Arc;

use serde_json::json;

use super::super::hostile::lists;
use super::facts::{
    OpenTransaction, approved, approved_as, at, awaiting, awaiting_with, began, call, calls, chat,
    denied, digest, ended, ok, opened, proposed, proposed_by, proposed_in, record, refused, row,
    running, running_with, says, session, step, stored, text, turn, user, verified, written,
};
use madang_actors::{
    ledger::{CallState, Ended, IllegalTransition, Transition},
    port::{LedgerFilter, LedgerRow, Store, StoreError},
    protocol::{
        Approval, CallResult, CancelReason, ChatMessage, Content, Effect, MAX_BYTES, MAX_LEVELS,
        ModelName, ToolOutcome,
    },
};

/// The row of a call shows its state after each step.
pub async fn every_step_of_a_call_is_projected(store: &dyn Store) {
    chat(store, "s").await;
    let mut expected = LedgerRow {
        session: session("s"),
        call: call(1),
        turn: turn(1),
        seq: 1,
        user: user("kim"),
        name: "add_habit".into(),
        arguments: json!(r#"{"id": "수면"}"#).into(),
        asked: None,
        raw_arguments: r#"{"id": "수면"}"#.into(),
        model: ModelName::new("small").ok(),
        opaque: Some("signed: 수면".into()),
        schema: None,
        shown: None,
        digest: None,
        state: CallState::Proposed,
        outcome: None,
        effect: None,
        result: None,
        decided_by: None,
        approval: None,
        seal: None,
        approved_at: None,
        expires_at: None,
        revoked_at: None,
        resolved_by: None,
        resolved_at: None,
        proposed_at: at(10),
        ended_at: None,
        unreadable: Vec::new(),
    };
    written(store, &[step("s", 1, 10, proposed(1))]).await;
    assert_eq!(row(store, 1).await, expected);

    written(store, &[step("s", 1, 11, awaiting(7))]).await;
    expected.state = CallState::Awaiting;
    expected.arguments = json!({ "id": "수면" }).into();
    expected.schema = Some(digest(7));
    expected.digest = Some(digest(7));
    expected.expires_at = Some(at(600));
    assert_eq!(row(store, 1).await, expected);

    written(store, &[step("s", 1, 12, approved(7, "kim"))]).await;
    expected.state = CallState::Approved;
    expected.decided_by = Some(user("kim"));
    expected.approval = Some(Approval::Once);
    expected.approved_at = Some(at(12));
    expected.expires_at = Some(at(500));
    expected.seal = row(store, 1).await.seal;
    assert!(expected.seal.is_some() && expected.check_seal(store.keys()).is_ok());
    assert_eq!(row(store, 1).await, expected);

    written(store, &[step("s", 1, 13, running(7))]).await;
    expected.state = CallState::Running;
    assert_eq!(row(store, 1).await, expected);

    let end = ok("done");
    written(store, &[step("s", 1, 14, Transition::Ended(end.clone()))]).await;
    expected.state = CallState::Ended;
    expected.outcome = Some(end.outcome);
    expected.effect = Some(Effect::Committed);
    expected.result = Some(CallResult::Shown);
    expected.ended_at = Some(at(14));
    assert_eq!(row(store, 1).await, expected);
}

/// An illegal step is refused with its name and the state of the call.
pub async fn an_illegal_step_is_refused_and_changes_nothing(store: &dyn Store) {
    chat(store, "s").await;
    let illegal = |from, to| IllegalTransition { call: call(1), session: session("s"), from, to };
    let error = refused(store, &[step("s", 1, 2, running(1))]).await;
    assert!(
        matches!(error, StoreError::Illegal(found) if found == illegal(None, CallState::Running))
    );

    written(store, &[step("s", 1, 2, proposed(1)), step("s", 1, 3, running(1))]).await;
    let before = row(store, 1).await;
    for (late, to) in
        [(awaiting(1), CallState::Awaiting), (approved(1, "kim"), CallState::Approved)]
    {
        let error = refused(store, &[step("s", 1, 4, late)]).await;
        assert!(
            matches!(error, StoreError::Illegal(found) if found == illegal(Some(CallState::Running), to))
        );
    }
    // A legal step comes before an illegal one, and the whole transaction is undone.
    refused(store, &[step("s", 1, 4, Transition::Ended(ok("a"))), step("s", 1, 5, running(1))])
        .await;
    assert_eq!(row(store, 1).await, before);
}

/// A step may be sent again if its answer was lost. The start of the handler may not, because its
/// writer runs the handler and only one may.
pub async fn the_same_step_again_changes_nothing(store: &dyn Store) {
    chat(store, "s").await;
    for again in
        [proposed(1), awaiting(7), approved(7, "kim"), running(7), Transition::Ended(ok("done"))]
    {
        written(store, &[step("s", 1, 10, again.clone())]).await;
        let before = (row(store, 1).await, verified(store, "s").await);
        if matches!(again, Transition::Running { .. }) {
            refused(store, &[step("s", 1, 10, again)]).await;
        } else {
            // An approval is sealed with its moment.
            let at = if matches!(again, Transition::Approved { .. }) { 10 } else { 99 };
            written(store, &[step("s", 1, at, again)]).await;
        }
        assert_eq!((row(store, 1).await, verified(store, "s").await), before);
    }
}

/// A value that could not be read again is refused before it is written, and the other transaction
/// is written.
pub async fn a_step_that_could_not_be_read_again_is_refused(store: &dyn Store) {
    chat(store, "s").await;
    let ended = |data| Transition::Ended(Ended { outcome: ToolOutcome::ok(data), ..ok("done") });
    let approved = |typed| approved_as(8, "kim", Approval::Edited, Some(typed));
    let deep = || lists(MAX_LEVELS + 1);
    let long = || json!("x".repeat(MAX_BYTES));
    written(store, &[step("s", 1, 2, proposed(1)), step("s", 2, 2, proposed(2))]).await;
    for value in [deep(), long()] {
        refused(store, &[step("s", 1, 3, awaiting_with(7, value.clone()))]).await;
        refused(store, &[step("s", 1, 3, running_with(7, value))]).await;
    }
    written(store, &[step("s", 2, 3, awaiting_with(7, json!({})))]).await;
    for value in [deep(), long()] {
        refused(store, &[step("s", 2, 4, approved(value))]).await;
    }
    written(store, &[step("s", 1, 4, running_with(7, lists(MAX_LEVELS)))]).await;
    for value in [deep(), long()] {
        refused(store, &[step("s", 1, 5, ended(value))]).await;
    }
    written(store, &[step("s", 1, 6, ended(lists(MAX_LEVELS)))]).await;
    assert_eq!(row(store, 1).await.outcome, Some(ToolOutcome::ok(lists(MAX_LEVELS))));
    verified(store, "s").await;
}

/// If two writers end a call in different ways, one wins and the other is refused.
pub async fn the_same_state_with_other_content_is_refused(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[step("s", 1, 2, proposed(1))]).await;
    refused(store, &[step("s", 1, 3, proposed(2))]).await;
    let end = |data| Transition::Ended(Ended { effect: Effect::None, ..ok(data) });
    written(store, &[step("s", 1, 4, end("first"))]).await;
    let error = refused(store, &[step("s", 1, 5, end("second"))]).await;
    assert!(matches!(error, StoreError::Illegal(_)));
    assert_eq!(row(store, 1).await.outcome, Some(ok("first").outcome));
}

/// An approval binds the run to the shown arguments, and only the call's user gives it.
pub async fn a_call_runs_only_what_was_approved_by_its_user(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[step("s", 1, 2, proposed(1)), step("s", 1, 3, awaiting(7))]).await;
    refused(store, &[step("s", 1, 4, approved(8, "kim"))]).await;
    refused(store, &[step("s", 1, 4, approved(7, "lee"))]).await;
    written(store, &[step("s", 1, 4, approved(7, "kim"))]).await;
    refused(store, &[step("s", 1, 5, running(8))]).await;
    written(store, &[step("s", 1, 5, running(7))]).await;
    assert_eq!(row(store, 1).await.state, CallState::Running);
}

/// An ended call is in the transcript under the number of its proposal.
pub async fn an_ended_call_is_an_entry_of_the_transcript(store: &dyn Store) {
    chat(store, "s").await;
    written(
        store,
        &[
            says("s", &text(1, "question")),
            step("s", 1, 10, proposed(2)),
            step("s", 1, 11, running(7)),
        ],
    )
    .await;
    assert_eq!(stored(store, "s").await.messages, [text(1, "question")], "not before it has ended");

    written(
        store,
        &[says("s", &text(3, "meanwhile")), step("s", 1, 14, Transition::Ended(ok("done")))],
    )
    .await;
    let content = Content::ToolCall(record().into());
    let entry = ChatMessage { seq: 2, turn: turn(1), at: at(14), content };
    assert_eq!(
        stored(store, "s").await.messages,
        [text(1, "question"), entry, text(3, "meanwhile")]
    );
}

/// A call that ended before a question keeps its validated arguments. No other call gets arguments
/// at its end.
pub async fn a_call_that_never_ran_keeps_its_validated_arguments(store: &dyn Store) {
    chat(store, "s").await;
    let validated = Arc::new(json!({ "id": "수면" }));
    let end = Ended {
        arguments: Some(validated.clone()),
        outcome: ToolOutcome::cancelled(CancelReason::Unreachable),
        effect: Effect::None,
        ..ok("")
    };
    written(store, &[step("s", 1, 2, proposed(1))]).await;
    written(store, &[step("s", 1, 3, Transition::Ended(end.clone()))]).await;
    assert_eq!(row(store, 1).await.arguments, validated);
    written(store, &[step("s", 2, 2, proposed(2)), step("s", 2, 3, running(7))]).await;
    refused(store, &[step("s", 2, 4, Transition::Ended(end))]).await;
}

/// The data of a dismissed call stays in the ledger, and no reader gets it.
pub async fn a_discarded_result_stays_in_the_ledger_only(store: &dyn Store) {
    chat(store, "s").await;
    let end = Ended { result: CallResult::Discarded, ..ok("secret") };
    written(store, &[step("s", 1, 2, proposed(1)), step("s", 1, 3, running(7))]).await;
    written(store, &[step("s", 1, 4, Transition::Ended(end.clone()))]).await;
    assert_eq!(row(store, 1).await.outcome, Some(end.outcome));
    let messages = stored(store, "s").await.messages;
    let [ChatMessage { content: Content::ToolCall(record), .. }] = &*messages else {
        panic!("one call in the transcript: {messages:?}");
    };
    assert_eq!(
        (&record.outcome, record.effect, record.result),
        (&None, Effect::Committed, CallResult::Discarded)
    );
}

/// A call whose handler never began had no effect. The store accepts no other end.
pub async fn a_call_that_never_ran_has_no_effect(store: &dyn Store) {
    chat(store, "s").await;
    let steps = [proposed(1), awaiting(7), approved(7, "kim"), running(7)];
    for before in steps {
        let is_running = matches!(before, Transition::Running { .. });
        written(store, &[step("s", 1, 2, before)]).await;
        for effect in [Effect::Committed, Effect::Unknown] {
            let end = Transition::Ended(Ended { effect, ..ok("") });
            if !is_running {
                let error = refused(store, &[step("s", 1, 3, end)]).await;
                assert!(matches!(error, StoreError::Illegal(_)), "{error:?}");
            }
        }
    }
    written(store, &[step("s", 1, 3, Transition::Ended(ok("done")))]).await;
}

/// A call's id is known in one session only.
pub async fn a_call_belongs_to_one_session(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[opened("t", "kim"), began("t", 2)]).await;
    written(store, &[step("s", 1, 2, proposed(1))]).await;
    refused(store, &[step("t", 1, 3, running(7))]).await;
    refused(store, &[step("t", 1, 3, proposed_in(2, 1))]).await;
    assert_eq!(row(store, 1).await.state, CallState::Proposed);
}

/// Calls are found by session, by id and by state.
pub async fn calls_are_filtered_and_come_in_the_order_of_their_proposals(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[opened("t", "lee"), began("t", 2)]).await;
    // Ids and numbers differ from the order of the proposals.
    written(store, &[step("s", 9, 2, proposed(5))]).await;
    written(store, &[step("t", 4, 2, proposed_in(2, 1))]).await;
    written(store, &[step("s", 1, 2, proposed(3)), step("s", 9, 3, denied())]).await;

    let find = async |filter| calls(store, &filter).await;
    let all = LedgerFilter::default();
    let in_s = LedgerFilter::default().in_session(&session("s"));
    assert_eq!(find(all.clone()).await, [call(9), call(4), call(1)]);
    assert_eq!(find(in_s.clone()).await, [call(9), call(1)]);
    assert_eq!(find(LedgerFilter::open_calls().in_session(&session("s"))).await, [call(1)]);
    assert_eq!(find(LedgerFilter::open_calls()).await, [call(4), call(1)]);
    assert_eq!(find(LedgerFilter::call(call(4))).await, [call(4)]);
    assert_eq!(find(LedgerFilter::call(call(4)).in_session(&session("s"))).await, []);
    assert_eq!(row(store, 9).await.decided_by, Some(user("kim")));
}

/// Facts of one transaction see each other, whether they are written at once or one by one.
pub async fn facts_of_one_transaction_build_on_each_other(store: &dyn Store) {
    let unrun = Ended { effect: Effect::None, ..ok("later") };
    let steps = |name: &str, number: u128| {
        vec![
            opened(name, "kim"),
            began(name, number),
            step(name, number, 2, proposed_in(number, 1)),
            step(name, number, 2, proposed_in(number, 1)),
            step(name, number, 3, running(7)),
            step(name, number + 1, 3, proposed_in(number, 2)),
            step(name, number, 4, Transition::Ended(ok("done"))),
            ended(name, number),
            step(name, number + 1, 4, Transition::Ended(unrun.clone())),
            opened(name, "kim"),
        ]
    };
    written(store, &steps("s", 10)).await;
    let mut one_by_one = OpenTransaction::begin(store).await;
    one_by_one.savepoint().await;
    for write in steps("t", 20) {
        one_by_one.write(&[write]).await;
    }
    one_by_one.keep().await;
    one_by_one.commit().await;

    for (name, number) in [("s", 10), ("t", 20)] {
        let found = stored(store, name).await;
        assert_eq!((found.messages.len(), found.open_turn), (2, None));
        assert_eq!((row(store, number).await.seq, row(store, number + 1).await.seq), (1, 2));
        assert_eq!(verified(store, name).await.len(), 5);
    }
    // A refusal in the middle or at the end undoes the whole transaction.
    for refusal in
        [ended("u", 30), opened("u", "lee"), began("u", 30), step("u", 30, 5, running(7))]
    {
        refused(store, &[steps("u", 30), vec![refusal]].concat()).await;
        assert_eq!(store.session(&session("u")).await.expect("the store can be read"), None);
    }
}

/// The first of several refused facts is reported. An illegal step does not hide that its call was
/// never proposed.
pub async fn the_first_refusal_is_reported(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[step("s", 1, 2, proposed(1))]).await;
    let impossible = [
        // Its number is taken.
        step("s", 2, 3, proposed(1)),
        // Its turn has not begun.
        step("s", 2, 3, proposed_in(2, 2)),
        // Another user's call has this number.
        step("s", 2, 3, proposed_by("lee", "add_habit", 1)),
        says("s", &text(1, "hi")),
    ];
    for first in impossible {
        for second in [approved(7, "kim"), approved(7, "lee"), Transition::Ended(ok("\"x\""))] {
            let told = refused(store, &[first.clone(), step("s", 2, 4, second.clone())]).await;
            assert!(matches!(told, StoreError::Refused { .. }), "{first:?} {second:?}: {told:?}");
        }
    }
    // Another user may have a call in a session, and cannot approve what was not asked.
    let lees = proposed_by("lee", "add_habit", 2);
    let told = refused(store, &[step("s", 2, 3, lees), step("s", 2, 4, approved(7, "lee"))]).await;
    assert!(matches!(told, StoreError::Illegal(_)), "{told:?}");
}
