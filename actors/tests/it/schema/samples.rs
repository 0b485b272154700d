//! A value of each kind that the vocabulary has, with every field and every word somewhere among
//! them.

use madang_actors::{
    ledger::{CallState, SealKey, SealKeys, Transition},
    port::LedgerRow,
    protocol::{
        Approval, ApprovalEnd, ApprovalRequest, CallId, CallRecord, CallResult, CancelReason,
        Content, Decision, Digest, Effect, EffectResolution, Ending, EntryOrigin, EventKind,
        IdempotencyKey, ModelName, Notice, PromptSize, ResolvedBy, ResolvedCall, SessionId, Shown,
        Timestamp, ToolOutcome, TurnEnding, TurnError, TurnId, Usage, UserId, WantedCall,
    },
};
use serde_json::json;
use uuid::Uuid;

pub(super) fn call() -> CallId {
    CallId::new(Uuid::from_u128(1))
}

pub(super) fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(2))
}

pub(super) fn at() -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000)
}

pub(super) fn session() -> SessionId {
    SessionId::new("수면 chat").unwrap()
}

pub(super) fn user() -> UserId {
    UserId::new("kim@example.org").unwrap()
}

pub(super) fn digest() -> Digest {
    Digest::new([0xa7; 32])
}

pub(super) fn approvals() -> Vec<Approval> {
    let schema = digest();
    let resource = Some(digest());
    vec![
        Approval::Once,
        Approval::Always { schema, until: at(), uses: 3, resource },
        Approval::Standing { by_call: call(), schema, resource, number: 2 },
        Approval::Edited,
    ]
}

pub(super) fn outcomes() -> Vec<ToolOutcome> {
    let reasons = [
        CancelReason::Denied,
        CancelReason::Expired,
        CancelReason::Unreachable,
        CancelReason::Dismissed,
        CancelReason::Withdrawn,
    ];
    let cancelled = reasons.map(ToolOutcome::cancelled);
    let done = ToolOutcome::ok(json!({ "any": [1, null] }));
    let metadata = |outcome: ToolOutcome| outcome.with_metadata("stop_loop", json!(true));
    let rest = [
        metadata(done.clone()),
        done,
        metadata(ToolOutcome::error("validation", "it is wrong")),
        metadata(ToolOutcome::denied(Some("not today".into()))),
    ];
    cancelled.into_iter().chain(rest).collect()
}

pub(super) fn records() -> Vec<CallRecord> {
    let plain = CallRecord {
        model: model(),
        opaque: None,
        id: call(),
        name: "save".into(),
        arguments: json!({ "name": "a" }).into(),
        asked: None,
        approval: None,
        outcome: None,
        effect: Effect::None,
        resolved_by: None,
        result: CallResult::Discarded,
        proposed_at: at(),
        ended_at: at(),
    };
    let with = |outcome| CallRecord {
        outcome: Some(outcome),
        effect: Effect::Unknown,
        result: CallResult::Shown,
        ..plain.clone()
    };
    let resolved = |resolved_by| CallRecord {
        asked: Some(json!([]).into()),
        resolved_by: Some(resolved_by),
        effect: Effect::Committed,
        ..plain.clone()
    };
    let approved = approvals()
        .into_iter()
        .map(|approval| CallRecord { approval: Some(approval), ..plain.clone() });
    outcomes()
        .into_iter()
        .map(with)
        .chain([ResolvedBy::Handler, ResolvedBy::Person { user: user() }].map(resolved))
        .chain(approved)
        .chain([plain.clone()])
        .collect()
}

pub(super) const NOTICES: [Notice; 5] = [
    Notice::SuggestClear,
    Notice::EffectUnknown,
    Notice::TurnLeftOut,
    Notice::Unreadable,
    Notice::Forked,
];
pub(super) const USAGE: Usage = Usage { prompt_tokens: 7, cached_tokens: 2, completion_tokens: 5 };
pub(super) const ORIGINS: [EntryOrigin; 2] = [EntryOrigin::Chat, EntryOrigin::Imported];

fn keys() -> [Option<IdempotencyKey>; 2] {
    [None, Some(IdempotencyKey::new("mine").unwrap())]
}

/// The name of a model.
pub(super) fn model() -> Option<ModelName> {
    Some(ModelName::new("small").unwrap())
}

pub(super) fn contents() -> Vec<Content> {
    let mut contents = vec![Content::Cleared];
    contents.extend(NOTICES.map(|notice| Content::Notice { notice }));
    contents.extend(records().into_iter().map(|record| Content::ToolCall(record.into())));
    for origin in ORIGINS {
        for key in keys() {
            contents.push(Content::User { text: "hi".into(), key, origin });
        }
        for (ending, model) in [(Ending::Complete, None), (Ending::Interrupted, model())] {
            contents.push(Content::Model { text: "Hello.".into(), ending, model, origin });
        }
    }
    contents
}

pub(super) fn decisions() -> Vec<Decision> {
    vec![
        Decision::Approve,
        Decision::ApproveAlways,
        Decision::Deny,
        Decision::DenyWith { message: "not now".into() },
        Decision::Edit { arguments: json!({ "name": "b" }) },
    ]
}

pub(super) fn request() -> ApprovalRequest {
    ApprovalRequest {
        call: call(),
        session: session(),
        user: user(),
        tool: "save".into(),
        arguments: json!({}).into(),
        consequence: "It is saved.".into(),
        text: "Save?".into(),
        digest: digest(),
        expires_at: at(),
    }
}

pub(super) fn errors() -> Vec<TurnError> {
    vec![
        TurnError::TooManyRounds,
        TurnError::model("Offline"),
        TurnError::Model {
            kind: "Overloaded".into(),
            retry_after_ms: Some(20),
            said: None,
            prompt: None,
        },
        TurnError::Model {
            kind: "Http402".into(),
            retry_after_ms: None,
            said: Some("Insufficient Balance".into()),
            prompt: None,
        },
        TurnError::Model {
            kind: "PromptTooLong".into(),
            retry_after_ms: None,
            said: None,
            prompt: Some(PromptSize { tools: 2, tools_bytes: 900, ..PromptSize::default() }),
        },
        TurnError::CutOff,
    ]
}

pub(super) fn resolved(by: ResolvedBy, resolution: EffectResolution) -> ResolvedCall {
    ResolvedCall { call: call(), name: "mail".into(), resolution, by }
}

pub(super) fn kinds() -> Vec<EventKind> {
    let text = || "text".to_owned();
    let mut kinds = vec![
        EventKind::ToolCallProposed {
            call: call(),
            model: model(),
            wanted: WantedCall::new("save", "{"),
        },
        EventKind::ApprovalRequested { request: request() },
        EventKind::Cleared,
        EventKind::MessagesLeftOut { messages: 2, text: text() },
        EventKind::TurnResumed,
        EventKind::TurnInterrupted { text: text() },
    ];
    let endings =
        [TurnEnding::Answered, TurnEnding::Stopped, TurnEnding::Failed, TurnEnding::Dismissed];
    kinds.extend(endings.map(|ending| EventKind::TurnEnded { ending, usage: USAGE }));
    kinds.extend(errors().into_iter().map(|error| EventKind::Error { error, text: text() }));
    kinds.extend(NOTICES.map(|notice| EventKind::SystemNotice { notice, text: text() }));
    kinds.extend(
        records().into_iter().map(|record| EventKind::ToolCallEnded { record: record.into() }),
    );
    for origin in ORIGINS {
        let text = || "hi".into();
        kinds.extend(keys().map(|key| EventKind::UserMessage { text: text(), key, origin }));
        for (ending, model) in [(Ending::Complete, None), (Ending::Interrupted, model())] {
            kinds.push(EventKind::ModelMessage { text: text(), ending, model, origin });
        }
    }
    for (by, resolution) in [
        (ResolvedBy::Handler, EffectResolution::TookEffect),
        (ResolvedBy::Person { user: user() }, EffectResolution::DidNot),
    ] {
        kinds
            .push(EventKind::ToolCallResolved { resolved: resolved(by, resolution), text: text() });
    }
    let ends = decisions().into_iter().map(|decision| ApprovalEnd::Decided { decision });
    let cancelled = ApprovalEnd::Cancelled { reason: CancelReason::Expired };
    kinds.extend(ends.chain([cancelled]).map(|end| EventKind::ApprovalEnded { call: call(), end }));
    kinds
}

pub(super) fn rows() -> Vec<LedgerRow> {
    let states = [
        CallState::Proposed,
        CallState::Awaiting,
        CallState::Approved,
        CallState::Running,
        CallState::Ended,
    ];
    let bare = LedgerRow {
        model: model(),
        opaque: None,
        session: session(),
        call: call(),
        turn: turn(),
        seq: 2,
        user: user(),
        name: "save".into(),
        arguments: json!("{").into(),
        asked: None,
        raw_arguments: "{".into(),
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
        proposed_at: at(),
        ended_at: None,
        unreadable: vec![],
    };
    let keys = SealKeys::new([SealKey::new([7; 32])]);
    let Transition::Approved { seal, .. } = keys.sealed(
        &session(),
        call(),
        at(),
        Transition::Approved {
            by: user(),
            approval: Approval::Once,
            arguments: None,
            digest: digest(),
            expires_at: at(),
            seal: None,
        },
    ) else {
        panic!("it is sealed")
    };
    assert!(seal.is_some());
    let full = |record: CallRecord| LedgerRow {
        asked: record.asked,
        schema: Some(digest()),
        shown: Some(Box::new(Shown { text: "Save?".into(), consequence: "Saved.".into() })),
        digest: Some(digest()),
        state: CallState::Ended,
        outcome: record.outcome,
        effect: Some(record.effect),
        result: Some(record.result),
        decided_by: Some(user()),
        approval: record.approval,
        seal,
        approved_at: Some(at()),
        expires_at: Some(at()),
        revoked_at: Some(at()),
        resolved_by: record.resolved_by,
        resolved_at: Some(at()),
        ended_at: Some(at()),
        unreadable: vec!["outcome"],
        ..bare.clone()
    };
    let mut rows: Vec<_> = records().into_iter().map(full).collect();
    rows.extend(states.map(|state| LedgerRow { state, ..bare.clone() }));
    rows
}
