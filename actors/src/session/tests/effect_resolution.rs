//! Calls of which nobody could tell whether they took effect: what becomes known later, from whom, and who hears of it.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{asleep, by_hand, calling};
use crate::{
    port::{LedgerRow, StoreError},
    protocol::{
        CallId, CompletionRequest, Decision, Effect, EventKind, Limits, Locale, PromptMessage,
        SettledBy, SettledCall, Settlement, Timestamp, UserId,
    },
    session::{SessionSlot, SettleError, settle, turn::effect_resolution::stands},
    test_runtime::{TestRuntime, in_time, kim, session},
    testing::{End, FakeTool, Gate, Probe, ScriptedCompletion, ScriptedModel},
};

async fn settles(
    yard: &TestRuntime,
    slot: &SessionSlot,
    call: CallId,
    settlement: Settlement,
) -> Result<(), SettleError> {
    in_time(settle(slot, &yard.wiring, Locale::En, call, settlement)).await
}

/// What the model reads of the calls before it.
fn envelopes(request: &CompletionRequest) -> String {
    let envelope = |message: &PromptMessage| match message {
        PromptMessage::ToolCall { envelope, .. } => Some(envelope.to_string()),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    };
    request.messages.iter().filter_map(envelope).collect::<Vec<_>>().join("\n")
}

async fn until_settled(probe: &mut Probe) -> SettledCall {
    let settled = |kind: &EventKind| {
        let EventKind::ToolCallSettled { settled, .. } = kind else { return None };
        Some(settled.clone())
    };
    probe.until(|events| events.iter().any(|event| settled(&event.kind).is_some())).await;
    probe.events().iter().find_map(|event| settled(&event.kind)).unwrap()
}

fn torn() -> FakeTool {
    FakeTool::write("mail").end(End::Panic("torn"))
}

/// A chat in which a call ended as nobody can tell.
async fn with_an_unknown_effect(limits: Limits) -> (TestRuntime, Arc<SessionSlot>, LedgerRow) {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call("mail", &serde_json::json!({})),
        ScriptedCompletion::text("Who knows."),
    ]);
    let yard = TestRuntime::with(limits, model, [torn()]).await;
    let slot = yard.slot("s").await;
    in_time(yard.ask(&slot, "go").await.unwrap()).await.unwrap();
    let row = yard.ledger().await.remove(0);
    assert_eq!(row.effect, Some(Effect::Unknown));
    (yard, slot, row)
}

#[tokio::test]
async fn what_a_late_handler_did_is_told_to_the_model_in_the_next_round_of_the_same_turn() {
    let gate = Gate::new();
    let mail = FakeTool::write("mail").with_spec(|spec| spec.timeout(Duration::from_millis(20)));
    let (yard, mut script) = by_hand([mail.gate(&gate), FakeTool::read("look")]).await;
    let slot = yard.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = yard.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let completion = script.next().await;
    assert!(envelopes(completion.request()).contains("It may have taken effect."));
    let call = yard.ledger().await[0].call;
    let early = settles(&yard, &slot, call, Settlement::DidNot).await;
    assert!(matches!(early, Err(SettleError::StillRuns)), "{early:?}");

    gate.open();
    let settled = until_settled(&mut probe).await;
    assert_eq!((settled.call, settled.by), (call, SettledBy::Handler));
    completion.finish(calling("", &["look"]));
    let completion = script.next().await;
    let told = envelopes(completion.request());
    let known = r#""status":"error","settled":"mail: it is known now that it took effect.","code""#;
    assert!(told.contains(known), "{told}");
    completion.say("It was sent.");
    in_time(end).await.unwrap();
    let late = settles(&yard, &slot, call, Settlement::DidNot).await;
    assert!(
        matches!(late, Err(SettleError::NotUnknown { effect: Some(Effect::Committed) })),
        "{late:?}"
    );
    yard.settled().await;
}

#[tokio::test]
async fn what_a_person_found_out_is_told_to_the_model_in_the_next_turn_and_to_subscribers() {
    let (yard, mut script) = by_hand([torn()]).await;
    let slot = yard.slot("s").await;
    let end = yard.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    script.next().await.say("Who knows.");
    in_time(end).await.unwrap();
    let mut probe = Probe::new(slot.feed().subscribe());
    let call = yard.ledger().await[0].call;
    settles(&yard, &slot, call, Settlement::DidNot).await.unwrap();
    let by = SettledBy::Person { user: kim() };
    let settled = until_settled(&mut probe).await;
    assert_eq!((settled.settlement, &settled.by), (Settlement::DidNot, &by));
    assert_eq!(probe.lines(), "settled mail: it is known now that it did not take effect.");

    let end = yard.ask(&slot, "and now?").await.unwrap();
    let completion = script.next().await;
    let told = envelopes(completion.request());
    assert!(told.contains("mail: it is known now that it did not take effect."), "{told}");
    completion.say("I try again.");
    in_time(end).await.unwrap();
    let row = yard.settled().await.remove(0);
    assert_eq!((row.effect, row.settled_by), (Some(Effect::None), Some(by)));
}

#[tokio::test]
async fn a_session_that_sleeps_is_settled_in_its_sleep_and_knows_when_it_wakes() {
    let limits = Limits { session_idle: Duration::from_millis(5), ..Limits::default() };
    let (yard, slot, row) = with_an_unknown_effect(limits).await;
    in_time(asleep(&slot)).await;
    let mut probe = Probe::new(slot.feed().subscribe());
    settles(&yard, &slot, row.call, Settlement::TookEffect).await.unwrap();
    assert_eq!(until_settled(&mut probe).await.call, row.call);
    assert!(slot.awake().is_none(), "nobody had to wake it");
    let messages = yard.state(&slot).await.messages;
    let entry = yard.ledger().await[0].entry().unwrap();
    assert!(messages.contains(&entry), "{messages:?}");
    yard.settled().await;
}

#[tokio::test]
async fn a_settlement_that_cannot_be_is_refused_with_its_reason_and_changes_nothing() {
    let (yard, slot, row) = with_an_unknown_effect(Limits::default()).await;
    let settlement = Settlement::TookEffect;
    let nobodys = CallId::new(Uuid::from_u128(1));
    let refused = settles(&yard, &slot, nobodys, settlement).await;
    assert!(matches!(refused, Err(SettleError::UnknownCall(call)) if call == nobodys));
    let other = yard.slot("other").await;
    let refused = settles(&yard, &other, row.call, settlement).await;
    assert!(matches!(refused, Err(SettleError::UnknownCall(_))), "{refused:?}");
    let lee = UserId::new("lee").unwrap();
    let lees = yard.sessions.slot(&session("lees"), &lee, &yard.tree.around.limits).unwrap();
    let refused = settles(&yard, &lees, row.call, settlement).await;
    assert!(matches!(refused, Err(SettleError::NotYours)), "{refused:?}");
    yard.store.fail_next_begin();
    let refused = settles(&yard, &slot, row.call, settlement).await;
    assert!(matches!(refused, Err(SettleError::Store(_))), "{refused:?}");
    assert_eq!(yard.ledger().await, std::slice::from_ref(&row));

    yard.store.lose_next_commit_reply();
    settles(&yard, &slot, row.call, settlement).await.expect("the ledger has it");
    for again in [Settlement::TookEffect, Settlement::DidNot] {
        let refused = settles(&yard, &slot, row.call, again).await;
        let known = Some(Effect::Committed);
        assert!(
            matches!(refused, Err(SettleError::NotUnknown { effect }) if effect == known),
            "{refused:?}"
        );
    }
    yard.settled().await;
}

#[tokio::test]
async fn a_call_that_has_not_ended_is_not_settled() {
    let (yard, mut script) = by_hand([FakeTool::destructive("burn")]).await;
    let slot = yard.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = yard.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["burn"]));
    let question = probe.question().await;
    let refused = settles(&yard, &slot, question.call, Settlement::DidNot).await;
    assert!(matches!(refused, Err(SettleError::NotUnknown { effect: None })), "{refused:?}");
    yard.answer(&question, Decision::Deny).await.unwrap();
    script.next().await.say("Not done.");
    in_time(end).await.unwrap();
    yard.settled().await;
}

#[tokio::test]
async fn of_many_who_settle_at_once_exactly_one_wins_and_is_heard() {
    for number in 0..8 {
        let (yard, slot, row) = with_an_unknown_effect(Limits::default()).await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let settlements = [Settlement::TookEffect, Settlement::DidNot, Settlement::TookEffect];
        let all = settlements.map(|settlement| settles(&yard, &slot, row.call, settlement));
        let [first, second, third] = all;
        let (first, second, third) = tokio::join!(first, second, third);
        let won: Vec<_> = [first, second, third]
            .into_iter()
            .zip(settlements)
            .filter_map(|(result, settlement)| match result {
                Ok(()) => Some(settlement),
                Err(SettleError::NotUnknown { effect: Some(_) }) => None,
                Err(error) => panic!("{number}: {error:?}"),
            })
            .collect();
        let row = yard.settled().await.remove(0);
        let [won] = won[..] else { panic!("{number}: {won:?} won") };
        assert_eq!(row.effect, Some(won.effect()));
        until_settled(&mut probe).await;
        assert_eq!(probe.events().len(), 1);
    }
}

#[tokio::test]
async fn where_the_store_does_not_say_a_settlement_counts_only_if_the_ledger_has_that_very_one() {
    let (_yard, _slot, row) = with_an_unknown_effect(Limits::default()).await;
    let (by, at) = (SettledBy::Person { user: kim() }, Timestamp::from_millis(7));
    let mine = LedgerRow {
        effect: Some(Effect::Committed),
        settled_by: Some(by.clone()),
        settled_at: Some(at),
        ..row.clone()
    };
    let told = |found: &LedgerRow, cause| stands(found, Settlement::TookEffect, &by, at, cause);
    told(&mine, StoreError::Silent).unwrap();
    let other = UserId::new("lee").unwrap();
    let (lee, later) = (SettledBy::Person { user: other }, Timestamp::from_millis(8));
    let others = [
        LedgerRow { effect: Some(Effect::None), ..mine.clone() },
        LedgerRow { settled_by: Some(lee), ..mine.clone() },
        LedgerRow { settled_by: Some(SettledBy::Handler), ..mine.clone() },
        LedgerRow { settled_at: Some(later), ..mine.clone() },
    ];
    for found in others {
        let refused = told(&found, StoreError::Silent);
        assert!(
            matches!(refused, Err(SettleError::NotUnknown { effect }) if effect == found.effect),
            "{refused:?} {found:?}"
        );
    }
    let refused = told(&mine, StoreError::refused("somebody was first"));
    assert!(matches!(refused, Err(SettleError::NotUnknown { .. })), "{refused:?}");
    let open = told(&row, StoreError::Silent);
    assert!(matches!(open, Err(SettleError::Store(StoreError::Silent))), "{open:?}");
}
