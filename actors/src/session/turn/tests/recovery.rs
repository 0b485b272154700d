//! What becomes of a turn that was left open, as a table: what is stored, what is to be done.

use serde_json::json;
use uuid::Uuid;

use crate::{
    ledger::{CallState, text_digest},
    port::{LedgerRow, OpenTurn, StoreError},
    protocol::{
        CallId, CallRecord, CallResult, ChatMessage, Content, Effect, SessionId, Timestamp,
        ToolOutcome, TurnId, TurnOptions, Usage, UserId,
    },
    session::turn::recovery::{Fate, Left, Plan, Reason, plan},
};

use CallState::{Approved, Awaiting, Proposed, Running};

const AT: Timestamp = Timestamp::from_millis(0);

fn turn(number: u128) -> TurnId {
    TurnId::new(Uuid::from_u128(number))
}

fn call(seq: u64) -> CallId {
    CallId::new(Uuid::from_u128(seq.into()))
}

fn open(round: u32, from: u64) -> OpenTurn {
    OpenTurn {
        turn: turn(1),
        options: TurnOptions::default(),
        text: text_digest("hi"),
        round,
        from,
        usage: Usage::default(),
        is_dismissed: false,
        resumes: 0,
    }
}

fn user() -> ChatMessage {
    ChatMessage { seq: 1, turn: turn(1), at: AT, content: Content::user("hi") }
}

fn ended(seq: u64, stops_loop: bool) -> ChatMessage {
    let outcome = ToolOutcome::ok(json!({})).with_metadata("stop_loop", json!(stops_loop));
    let record = CallRecord {
        model: None,
        opaque: None,
        id: call(seq),
        name: "t".into(),
        arguments: json!({}).into(),
        asked: None,
        approval: None,
        outcome: Some(outcome),
        effect: Effect::Committed,
        resolved_by: None,
        result: CallResult::Shown,
        proposed_at: AT,
        ended_at: AT,
    };
    ChatMessage { seq, turn: turn(1), at: AT, content: Content::ToolCall(record.into()) }
}

fn row_of(number: u128, seq: u64, state: CallState) -> LedgerRow {
    LedgerRow {
        model: None,
        opaque: None,
        session: SessionId::new("s").unwrap(),
        call: call(seq),
        turn: turn(number),
        seq,
        user: UserId::new("kim").unwrap(),
        name: "t".into(),
        arguments: json!({}).into(),
        asked: None,
        raw_arguments: "{}".into(),
        schema: None,
        shown: None,
        digest: None,
        expires_at: None,
        state,
        outcome: None,
        effect: None,
        result: None,
        decided_by: None,
        approval: None,
        seal: None,
        approved_at: None,
        revoked_at: None,
        resolved_by: None,
        resolved_at: None,
        proposed_at: AT,
        ended_at: None,
        unreadable: Vec::new(),
    }
}

fn row(seq: u64, state: CallState) -> LedgerRow {
    row_of(1, seq, state)
}

fn planned(open: &OpenTurn, messages: &[ChatMessage], calls: &[LedgerRow]) -> Plan {
    plan(&Left { open, messages, calls, max_resumes: 3, has_model: true }).unwrap()
}

fn goes_on(again: &[u64], lost: &[u64]) -> Plan {
    goes_on_or_waits(again, lost, false)
}

fn waits(again: &[u64], lost: &[u64]) -> Plan {
    goes_on_or_waits(again, lost, true)
}

fn goes_on_or_waits(again: &[u64], lost: &[u64], waits: bool) -> Plan {
    let ids = |seqs: &[u64]| seqs.iter().map(|seq| call(*seq)).collect();
    Plan { lost: ids(lost), turn: Fate::GoesOn { again: ids(again), stops_loop: false, waits } }
}

fn ends(reason: Reason, lost: &[u64]) -> Plan {
    let lost: Vec<_> = lost.iter().map(|seq| call(*seq)).collect();
    let was_completing = lost.is_empty();
    Plan { lost, turn: Fate::Ends { reason, was_completing } }
}

#[test]
fn without_a_model_lost_calls_end_and_a_turn_that_would_go_on_stays() {
    let planned = |open: &OpenTurn, messages: &[ChatMessage], calls: &[LedgerRow]| {
        plan(&Left { open, messages, calls, max_resumes: 3, has_model: false }).unwrap()
    };
    let stays = Plan { lost: vec![call(2)], turn: Fate::Stays };
    let dismissed = OpenTurn { is_dismissed: true, ..open(1, 2) };
    for open in [open(1, 2), dismissed] {
        let rows = [row(2, Running), row(3, Awaiting), row(4, Proposed)];
        assert_eq!(planned(&open, &[user()], &rows), stays);
    }
    // What ends with a model ends without one.
    let rows = [row(2, Running), row(3, Proposed)];
    let too_often = OpenTurn { resumes: 3, ..open(1, 2) };
    assert_eq!(planned(&too_often, &[user()], &rows), ends(Reason::TooOften, &[2, 3]));
    assert_eq!(planned(&open(1, 2), &[], &rows), ends(Reason::NoChat, &[2, 3]));
}

#[test]
fn a_call_goes_on_wherever_it_stands_unless_its_handler_was_recorded_as_begun() {
    let open = open(1, 2);
    for (state, expected) in [
        (Proposed, goes_on(&[2], &[])),
        (Awaiting, waits(&[2], &[])),
        (Approved, goes_on(&[2], &[])),
        (Running, goes_on(&[], &[2])),
    ] {
        assert_eq!(planned(&open, &[user()], &[row(2, state)]), expected, "{state:?}");
    }
}

#[test]
fn what_has_ended_is_not_touched_and_the_rest_goes_on_in_the_order_of_the_calls() {
    let calls = [row(6, Proposed), row(4, Awaiting), row(5, Running)];
    let plan = planned(&open(1, 2), &[user(), ended(2, false), ended(3, false)], &calls);
    assert_eq!(plan, waits(&[4, 6], &[5]));
}

#[test]
fn without_calls_the_model_is_asked_again() {
    assert_eq!(planned(&open(0, 0), &[user()], &[]), goes_on(&[], &[]));
    assert_eq!(planned(&open(1, 2), &[user(), ended(2, false)], &[]), goes_on(&[], &[]));
}

#[test]
fn only_a_call_of_the_last_round_ends_the_loop() {
    let stops = |round, from, messages: &[ChatMessage]| {
        let Fate::GoesOn { stops_loop, .. } = planned(&open(round, from), messages, &[]).turn
        else {
            panic!("it goes on")
        };
        stops_loop
    };
    assert!(stops(1, 2, &[user(), ended(2, true)]));
    assert!(stops(2, 3, &[user(), ended(2, false), ended(3, true), ended(4, false)]));
    assert!(!stops(2, 3, &[user(), ended(2, true), ended(3, false)]));
}

#[test]
fn calls_of_another_turn_are_lost_whatever_their_state() {
    let calls = [row_of(7, 2, Proposed), row_of(7, 3, Running), row(4, Proposed)];
    assert_eq!(planned(&open(1, 4), &[user()], &calls), goes_on(&[4], &[2, 3]));
}

#[test]
fn a_call_from_before_its_round_is_a_contradiction_and_not_dispatched() {
    let plan = |calls: &[LedgerRow]| {
        let open = &open(2, 4);
        let messages = &[user()][..];
        plan(&Left { open, messages, calls, max_resumes: 3, has_model: true })
    };
    let refused = plan(&[row(5, Proposed), row(3, Awaiting)]);
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(plan(&[row(3, Running)]).unwrap(), goes_on(&[], &[3]), "it ends as lost");
}

#[test]
fn a_turn_that_cannot_go_on_ends_and_its_calls_with_it() {
    let calls = [row(2, Approved), row(3, Running)];
    let too_often = OpenTurn { resumes: 3, ..open(1, 2) };
    assert_eq!(planned(&too_often, &[user()], &calls), ends(Reason::TooOften, &[2, 3]));
    let again = OpenTurn { resumes: 2, ..open(1, 2) };
    assert_eq!(planned(&again, &[user()], &calls), goes_on(&[2], &[3]));
    // Without what the user typed, no model can be asked.
    assert_eq!(planned(&open(1, 2), &[], &calls), ends(Reason::NoChat, &[2, 3]));
    let others = ChatMessage { turn: turn(7), ..user() };
    assert_eq!(planned(&open(1, 2), &[others], &calls), ends(Reason::NoChat, &[2, 3]));
}

#[test]
fn a_turn_that_only_waits_for_a_person_is_never_resumed_too_often() {
    let often = OpenTurn { resumes: 1_000, ..open(1, 2) };
    let plan = |calls: &[LedgerRow]| planned(&often, &[user()], calls);
    assert_eq!(plan(&[row(2, Awaiting)]), waits(&[2], &[]));
    assert_eq!(plan(&[row(3, Proposed), row(2, Awaiting)]), waits(&[2, 3], &[]));
    assert_eq!(plan(&[row(2, Running), row(3, Awaiting)]), waits(&[3], &[2]));
    // A handler may have taken the process with it.
    for state in [Proposed, Approved, Running] {
        assert_eq!(plan(&[row(2, state)]), ends(Reason::TooOften, &[2]), "{state:?}");
    }
    assert_eq!(plan(&[row(2, Proposed), row(3, Awaiting)]), ends(Reason::TooOften, &[2, 3]));
    // The model may have.
    assert_eq!(plan(&[]), ends(Reason::TooOften, &[]));
    let others = Plan { lost: vec![call(2)], ..ends(Reason::TooOften, &[]) };
    assert_eq!(plan(&[row_of(7, 2, Running)]), others);
}
