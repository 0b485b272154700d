//! Denied, denied with a message, expired, unreachable and dismissed stay five different ends. The
//! model, the ledger, the screen and the person see them apart, in both languages.

use std::{collections::HashSet, time::Duration};

use madang::{
    Asks, LanguageTag, Limits, TurnOptions,
    approval::{ApprovalEnd, Decision},
    language::{Locale, Text},
    ledger::{CallRecord, Effect},
    tool::{CancelReason, ToolOutcome, call_envelope},
};
use madang_testing::MemoryStore;
use serde_json::{Value, json};

use super::{Gate, Version, named, question_end};

/// The end of a call that was not allowed, wherever it is told.
#[derive(Debug)]
struct End {
    outcome: ToolOutcome,
    envelope: Value,
    event: Option<ApprovalEnd>,
    record: CallRecord,
    is_decided: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Denied,
    DeniedWith,
    Expired,
    Unreachable,
    Dismissed,
}

async fn end(way: Way) -> End {
    let mut limits = Limits::default();
    if way == Way::Expired {
        limits.decision_timeout = Duration::from_millis(50);
    }
    let mut gate = Gate::with(limits, MemoryStore::new(), Version::First).await;
    let asks = if way == Way::Unreachable { Asks::Nobody } else { Asks::User };
    let options = TurnOptions { asks, language: Some(LanguageTag::EN), ..TurnOptions::default() };
    let turn = gate.turn_with(options, &[("save", named("a"))]).await;
    if way != Way::Unreachable {
        let request = gate.approval_request().await;
        match way {
            Way::Denied => gate.session.decide(&request, Decision::Deny).await.unwrap(),
            Way::DeniedWith => {
                let message = "Too early: ask me after lunch.".into();
                gate.session.decide(&request, Decision::DenyWith { message }).await.unwrap();
            }
            Way::Dismissed => gate.session.dismiss().await.map(drop).unwrap(),
            Way::Expired | Way::Unreachable => {}
        }
    }
    let envelope = if way == Way::Dismissed {
        turn.ended().await.unwrap();
        // The model is told at the next turn.
        let turn = gate.session.send("again").await.unwrap();
        gate.told(turn).await.1
    } else {
        gate.told(turn).await.1
    };
    gate.probe.until_turns_ended(1).await;
    let event = question_end(&gate.probe);
    let row = gate.row().await;
    let record = gate.entry().await;
    assert_eq!((row.effect, row.record().as_ref()), (Some(Effect::None), Some(&record)));
    assert!(gate.saved().is_empty());
    gate.shutdown().await;
    let is_decided = row.decided_by.is_some();
    End { outcome: row.outcome.unwrap(), envelope, event, record, is_decided }
}

#[tokio::test]
async fn five_ends_without_a_yes_are_distinct_wherever_they_are_told() {
    let cancelled = |reason| Some(ApprovalEnd::Cancelled { reason });
    let message = "Too early: ask me after lunch.";
    let table = [
        (
            Way::Denied,
            json!({ "status": "cancelled", "reason": "user did not confirm" }),
            Some(ApprovalEnd::Decided { decision: Decision::Deny }),
            CancelReason::Denied,
        ),
        (
            Way::DeniedWith,
            json!({ "status": "cancelled", "reason": "user did not confirm", "message": message }),
            Some(ApprovalEnd::Decided { decision: Decision::DenyWith { message: message.into() } }),
            CancelReason::Denied,
        ),
        (
            Way::Expired,
            json!({ "status": "cancelled", "reason": "the question expired without an answer" }),
            cancelled(CancelReason::Expired),
            CancelReason::Expired,
        ),
        (
            Way::Unreachable,
            json!({ "status": "cancelled", "reason": "nobody could be asked to confirm" }),
            None,
            CancelReason::Unreachable,
        ),
        (
            Way::Dismissed,
            json!({ "status": "cancelled", "reason": "the user left before answering" }),
            cancelled(CancelReason::Dismissed),
            CancelReason::Dismissed,
        ),
    ];
    let (mut outcomes, mut envelopes, mut events) =
        (HashSet::new(), HashSet::new(), HashSet::new());
    for (way, envelope, event, reason) in table {
        let end = end(way).await;
        assert_eq!(end.envelope, envelope, "{way:?}");
        assert_eq!(end.event, event, "{way:?}");
        let ToolOutcome::Cancelled(told) = &end.outcome else { panic!("{end:?}") };
        assert_eq!(told.reason, reason);
        assert_eq!(told.message.as_deref(), (way == Way::DeniedWith).then_some(message));
        assert_eq!(end.is_decided, matches!(way, Way::Denied | Way::DeniedWith), "{way:?}");
        let again = call_envelope(&end.record, None, Locale::KO, 2_048);
        assert_eq!(
            serde_json::from_str::<Value>(&again).unwrap(),
            envelope,
            "the transcript tells the same"
        );
        outcomes.insert(serde_json::to_string(&end.outcome).unwrap());
        envelopes.insert(end.envelope.to_string());
        events.insert(format!("{:?}", end.event));
    }
    assert_eq!((outcomes.len(), envelopes.len(), events.len()), (5, 5, 5));
}

#[test]
fn the_person_reads_four_different_sentences_in_each_language() {
    let reasons = [
        CancelReason::Denied,
        CancelReason::Expired,
        CancelReason::Unreachable,
        CancelReason::Dismissed,
    ];
    let sentences: HashSet<String> = [Locale::KO, Locale::EN]
        .into_iter()
        .flat_map(|locale| reasons.map(|reason| Text::Cancelled(reason).in_locale(locale)))
        .collect();
    assert_eq!(sentences.len(), 8);
}
