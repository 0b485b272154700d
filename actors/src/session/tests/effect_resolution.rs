//! Calls with an unknown effect: what becomes known later, from whom, and which readers receive it.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::{asleep, by_hand, calling};
use crate::{
    port::{LedgerRow, StoreError},
    protocol::{
        CallId, CompletionRequest, Content, Decision, Effect, EffectResolution, EventKind, Limits,
        Locale, PromptMessage, ResolvedBy, ResolvedCall, Timestamp, UserId,
    },
    session::{
        Error, SessionRequest, SessionSlot, ViewPage, resolve, turn::effect_resolution::stands,
    },
    test_runtime::{TestRuntime, in_time, kim, session},
    testing::{End, FakeTool, Gate, Probe, ScriptedCompletion, ScriptedModel},
};

async fn resolves(
    runtime: &TestRuntime,
    slot: &SessionSlot,
    call: CallId,
    resolution: EffectResolution,
) -> Result<(), Error> {
    in_time(resolve(slot, &runtime.context, call, resolution)).await
}

/// What the model reads of the calls before it.
fn envelopes(request: &CompletionRequest) -> String {
    let envelope = |message: &PromptMessage| match message {
        PromptMessage::ToolCall { envelope, .. } => Some(envelope.to_string()),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    };
    request.messages.iter().filter_map(envelope).collect::<Vec<_>>().join("\n")
}

async fn until_resolved(probe: &mut Probe) -> ResolvedCall {
    let resolved = |kind: &EventKind| {
        let EventKind::ToolCallResolved { resolved, .. } = kind else { return None };
        Some(resolved.clone())
    };
    probe.until(|events| events.iter().any(|event| resolved(&event.kind).is_some())).await;
    probe.events().iter().find_map(|event| resolved(&event.kind)).unwrap()
}

fn torn() -> FakeTool {
    FakeTool::write("mail").end(End::Panic("torn"))
}

/// Makes a chat in which a call ended with an unknown effect.
async fn with_an_unknown_effect(limits: Limits) -> (TestRuntime, Arc<SessionSlot>, LedgerRow) {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call("mail", &serde_json::json!({})),
        ScriptedCompletion::text("Who knows."),
    ]);
    let runtime = TestRuntime::with(limits, model, [torn()]).await;
    let slot = runtime.slot("s").await;
    in_time(runtime.ask(&slot, "go").await.unwrap()).await.unwrap();
    let row = runtime.ledger().await.remove(0);
    assert_eq!(row.effect, Some(Effect::Unknown));
    (runtime, slot, row)
}

#[tokio::test]
async fn what_a_late_handler_did_is_told_to_the_model_in_the_next_round_of_the_same_turn() {
    let gate = Gate::new();
    let mail = FakeTool::write("mail").with_spec(|spec| spec.timeout(Duration::from_millis(20)));
    let (runtime, mut script) = by_hand([mail.gate(&gate), FakeTool::read("look")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let completion = script.next().await;
    assert!(envelopes(completion.request()).contains("It may have taken effect."));
    let call = runtime.ledger().await[0].call;
    let early = resolves(&runtime, &slot, call, EffectResolution::DidNot).await;
    assert!(matches!(early, Err(Error::StillRuns)), "{early:?}");

    gate.open();
    let resolved = until_resolved(&mut probe).await;
    assert_eq!((resolved.call, resolved.by), (call, ResolvedBy::Handler));
    completion.finish(calling("", &["look"]));
    let completion = script.next().await;
    let told = envelopes(completion.request());
    let known = r#""status":"error","settled":"mail: it is known now that it took effect.","code""#;
    assert!(told.contains(known), "{told}");
    completion.say("It was sent.");
    in_time(end).await.unwrap();
    let late = resolves(&runtime, &slot, call, EffectResolution::DidNot).await;
    assert!(matches!(late, Err(Error::NotUnknown { effect: Some(Effect::Committed) })), "{late:?}");
    runtime.at_rest().await;
}

#[tokio::test]
async fn what_a_person_found_out_is_told_to_the_model_in_the_next_turn_and_to_subscribers() {
    let (runtime, mut script) = by_hand([torn()]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    script.next().await.say("Who knows.");
    in_time(end).await.unwrap();
    let mut probe = Probe::new(slot.feed().subscribe());
    let call = runtime.ledger().await[0].call;
    resolves(&runtime, &slot, call, EffectResolution::DidNot).await.unwrap();
    let by = ResolvedBy::Person { user: kim() };
    let resolved = until_resolved(&mut probe).await;
    assert_eq!((resolved.resolution, &resolved.by), (EffectResolution::DidNot, &by));
    assert_eq!(probe.lines(), "resolved mail: it is known now that it did not take effect.");

    let end = runtime.ask(&slot, "and now?").await.unwrap();
    let completion = script.next().await;
    let told = envelopes(completion.request());
    assert!(told.contains("mail: it is known now that it did not take effect."), "{told}");
    completion.say("I try again.");
    in_time(end).await.unwrap();
    let row = runtime.at_rest().await.remove(0);
    assert_eq!((row.effect, row.resolved_by), (Some(Effect::None), Some(by)));
}

#[tokio::test]
async fn a_session_that_sleeps_is_resolved_in_its_sleep_and_knows_when_it_wakes() {
    let limits = Limits { session_idle: Duration::from_millis(5), ..Limits::default() };
    let (runtime, slot, row) = with_an_unknown_effect(limits).await;
    in_time(asleep(&slot)).await;
    let mut probe = Probe::new(slot.feed().subscribe());
    resolves(&runtime, &slot, row.call, EffectResolution::TookEffect).await.unwrap();
    assert_eq!(until_resolved(&mut probe).await.call, row.call);
    assert!(slot.awake().is_none(), "no actor had to wake");
    let messages = runtime.state(&slot).await.messages;
    let entry = runtime.ledger().await[0].entry().unwrap();
    assert!(messages.contains(&entry), "{messages:?}");
    runtime.at_rest().await;
}

#[tokio::test]
async fn a_resolution_that_cannot_be_is_refused_with_its_reason_and_changes_nothing() {
    let (runtime, slot, row) = with_an_unknown_effect(Limits::default()).await;
    let resolution = EffectResolution::TookEffect;
    let nobodys = CallId::new(Uuid::from_u128(1));
    let refused = resolves(&runtime, &slot, nobodys, resolution).await;
    assert!(matches!(refused, Err(Error::UnknownCall(call)) if call == nobodys));
    let other = runtime.slot("other").await;
    let refused = resolves(&runtime, &other, row.call, resolution).await;
    assert!(matches!(refused, Err(Error::UnknownCall(_))), "{refused:?}");
    let lee = UserId::new("lee").unwrap();
    let lees =
        runtime.sessions.slot(&session("lees"), &lee, &runtime.handles.calls.limits).unwrap();
    let refused = resolves(&runtime, &lees, row.call, resolution).await;
    assert!(matches!(refused, Err(Error::UnknownCall(_))), "{refused:?}");
    runtime.store.fail_next_begin();
    let refused = resolves(&runtime, &slot, row.call, resolution).await;
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    assert_eq!(runtime.ledger().await, std::slice::from_ref(&row));

    runtime.store.lose_next_commit_reply();
    resolves(&runtime, &slot, row.call, resolution).await.expect("the ledger has it");
    for again in [EffectResolution::TookEffect, EffectResolution::DidNot] {
        let refused = resolves(&runtime, &slot, row.call, again).await;
        let known = Some(Effect::Committed);
        assert!(
            matches!(refused, Err(Error::NotUnknown { effect }) if effect == known),
            "{refused:?}"
        );
    }
    runtime.at_rest().await;
}

#[tokio::test]
async fn a_call_that_has_not_ended_is_not_resolved() {
    let (runtime, mut script) = by_hand([FakeTool::destructive("burn")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["burn"]));
    let request = probe.approval_request().await;
    let refused = resolves(&runtime, &slot, request.call, EffectResolution::DidNot).await;
    assert!(matches!(refused, Err(Error::NotUnknown { effect: None })), "{refused:?}");
    runtime.decide(&request, Decision::Deny).await.unwrap();
    script.next().await.say("Not done.");
    in_time(end).await.unwrap();
    runtime.at_rest().await;
}

#[tokio::test]
async fn of_many_callers_that_resolve_at_once_exactly_one_wins_and_is_heard() {
    for number in 0..8 {
        let (runtime, slot, row) = with_an_unknown_effect(Limits::default()).await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let resolutions =
            [EffectResolution::TookEffect, EffectResolution::DidNot, EffectResolution::TookEffect];
        let all = resolutions.map(|resolution| resolves(&runtime, &slot, row.call, resolution));
        let [first, second, third] = all;
        let (first, second, third) = tokio::join!(first, second, third);
        let won: Vec<_> = [first, second, third]
            .into_iter()
            .zip(resolutions)
            .filter_map(|(result, resolution)| match result {
                Ok(()) => Some(resolution),
                Err(Error::NotUnknown { effect: Some(_) }) => None,
                Err(error) => panic!("{number}: {error:?}"),
            })
            .collect();
        let row = runtime.at_rest().await.remove(0);
        let [won] = won[..] else { panic!("{number}: {won:?} won") };
        assert_eq!(row.effect, Some(won.effect()));
        until_resolved(&mut probe).await;
        assert_eq!(probe.events().len(), 1);
    }
}

#[tokio::test]
async fn if_the_store_is_silent_a_resolution_counts_only_if_the_ledger_has_that_very_one() {
    let (_runtime, _slot, row) = with_an_unknown_effect(Limits::default()).await;
    let by = ResolvedBy::Person { user: kim() };
    let at = Timestamp::from_millis(7);
    let mine = LedgerRow {
        effect: Some(Effect::Committed),
        resolved_by: Some(by.clone()),
        resolved_at: Some(at),
        ..row.clone()
    };
    let told =
        |found: &LedgerRow, cause| stands(found, EffectResolution::TookEffect, &by, at, cause);
    told(&mine, StoreError::Silent).unwrap();
    let other = UserId::new("lee").unwrap();
    let lee = ResolvedBy::Person { user: other };
    let later = Timestamp::from_millis(8);
    let others = [
        LedgerRow { effect: Some(Effect::None), ..mine.clone() },
        LedgerRow { resolved_by: Some(lee), ..mine.clone() },
        LedgerRow { resolved_by: Some(ResolvedBy::Handler), ..mine.clone() },
        LedgerRow { resolved_at: Some(later), ..mine.clone() },
    ];
    for found in others {
        let refused = told(&found, StoreError::Silent);
        assert!(
            matches!(refused, Err(Error::NotUnknown { effect }) if effect == found.effect),
            "{refused:?} {found:?}"
        );
    }
    let refused = told(&mine, StoreError::refused("another resolution was first"));
    assert!(matches!(refused, Err(Error::NotUnknown { .. })), "{refused:?}");
    let open = told(&row, StoreError::Silent);
    assert!(matches!(open, Err(Error::Store(StoreError::Silent))), "{open:?}");
}

#[tokio::test]
async fn a_view_has_each_resolution_its_cursor_covers_though_the_actor_is_told_behind_it() {
    let (runtime, slot, row) = with_an_unknown_effect(Limits::default()).await;
    runtime.state(&slot).await;
    let (reply, seen) = oneshot::channel();
    runtime.send(&slot, SessionRequest::State { page: ViewPage::ALL, reply });
    // Told before the actor comes to the question that waits, and known to the actor behind it.
    let resolution = EffectResolution::TookEffect;
    let call = row.call;
    let by = ResolvedBy::Person { user: kim() };
    let resolved = ResolvedCall { call, name: row.name.clone(), resolution, by };
    slot.found_out(row.turn, Timestamp::from_millis(7), Locale::EN, resolved);
    let view = in_time(seen).await.unwrap().unwrap();
    let told = slot.feed().published_so_far().cursor;
    assert_eq!(view.cursor, told, "its cursor covers what was told");
    let effects = view.messages.iter().filter_map(|message| {
        let Content::ToolCall(record) = &message.content else { return None };
        Some(record.effect)
    });
    assert_eq!(effects.collect::<Vec<_>>(), [Effect::Committed]);
    runtime.at_rest().await;
}
