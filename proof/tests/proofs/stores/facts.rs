//! Generates operations on a store, from so few names that all of them meet.

use std::sync::Arc;

use madang::{
    CallId, IdempotencyKey, SessionId, Timestamp, TurnId, TurnOptions, UserId,
    approval::Digest,
    error::TurnError,
    event::{ChatMessage, Content, Ending, Notice, TurnEnding},
    ledger::{Approval, CallResult, Effect, EffectResolution, ResolvedBy},
    model::Usage,
    session::Imported,
    store::SessionTitle,
    tool::{CancelReason, ToolOutcome},
};
use madang_actors::{
    ledger::{Ended, Proposal, Transition},
    port::{TurnStep, Write},
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use uuid::Uuid;

/// The names of sessions.
pub(super) const SESSIONS: [&str; 2] = ["s", "t"];
/// The number of calls.
pub(super) const CALLS: u64 = 3;
/// The names of users.
pub(super) const USERS: [&str; 2] = ["kim", "lee"];
pub(super) const TURNS: u64 = 2;
const PLACES: u64 = 6;

/// An operation on a store. If it needs a transaction and none is open, it begins one.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Savepoint,
    Keep,
    Undo,
    Commit,
    /// Drop the transaction without a commit.
    Drop,
    /// Write these facts in a part of their own, which names the first of their calls or not.
    Write(Vec<Write>, Named),
    /// Write a value as a tool, or remove it.
    Put(&'static str, Option<u8>),
}

/// Whether a part names the call that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    No,
    Yes,
}

/// Generates sequences of operations.
pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{Commit, Drop, Keep, Savepoint, Undo};
    let name = select(vec!["a", "b"]);
    let operation = prop_oneof![
        2 => Just(Savepoint),
        2 => Just(Keep),
        2 => Just(Undo),
        3 => Just(Commit),
        1 => Just(Drop),
        12 => (writes(), select(vec![Named::No, Named::Yes]))
            .prop_map(|(writes, named)| Operation::Write(writes, named)),
        3 => (name, any::<Option<u8>>()).prop_map(|(name, value)| Operation::Put(name, value)),
    ];
    // Most sequences begin with open chats, and a few do not.
    (any::<u8>(), vec(operation, 1..40)).prop_map(|(odds, operations)| {
        let begin = if odds > 32 { Some(Operation::Write(open_chats(), Named::No)) } else { None };
        begin.into_iter().chain(operations).collect()
    })
}

fn open_chats() -> Vec<Write> {
    let opened =
        |(name, owner)| Write::Session { session: session(name), user: user(owner), at: at(1) };
    let began = |name| started(name, 1, None);
    [("s", "kim"), ("t", "lee")].map(opened).into_iter().chain(SESSIONS.map(began)).collect()
}

/// Generates one fact, several facts as one job, or the first steps of a call.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    prop_oneof![
        4 => write().prop_map(|write| vec![write]),
        1 => vec(write(), 2..4),
        3 => life(),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    let name = || select(SESSIONS.to_vec());
    let millis = || 1..20_i64;
    let ending = select(vec![
        TurnEnding::Answered,
        TurnEnding::Stopped,
        TurnEnding::Failed,
        TurnEnding::Dismissed,
    ]);
    let error = select(vec![None, Some(TurnError::CutOff), Some(TurnError::model("잠"))]);
    prop_oneof![
        2 => (name(), select(USERS.to_vec()), millis()).prop_map(|(name, owner, millis)| {
            Write::Session { session: session(name), user: user(owner), at: at(millis) }
        }),
        1 => (name(), any::<bool>()).prop_map(|(name, erases)| {
            let session = session(name);
            if erases { Write::Erased { session } } else { Write::Temporary { session } }
        }),
        1 => (name(), select(USERS.to_vec()), millis()).prop_map(|(name, owner, millis)| {
            Write::Deleted { session: session(name), user: user(owner), at: at(millis) }
        }),
        1 => (name(), select(USERS.to_vec()), select(vec![None, Some("잠"), Some("plan")]))
            .prop_map(|(name, owner, title)| Write::Titled {
                session: session(name),
                user: user(owner),
                title: title.and_then(|title| SessionTitle::new(title).ok()),
            }),
        2 => (name(), 1..=TURNS, select(vec![None, Some("a"), Some("b")]), room())
            .prop_map(|(name, number, key, room)| started_in(name, number, key, room)),
        2 => (name(), 1..=TURNS, millis(), turn_step()).prop_map(|(name, number, millis, step)| {
            Write::Turn { session: session(name), turn: turn(number), at: at(millis), step }
        }),
        2 => (name(), 1..=TURNS, (millis(), 0..8_u64), ending, error).prop_map(|(name, number, (millis, behind), ending, error)| {
            let usage = Usage { prompt_tokens: 3, cached_tokens: 2, completion_tokens: 1 };
            Write::TurnEnded { session: session(name), turn: turn(number), at: at(millis), behind, ending, error, usage }
        }),
        1 => (name(), select(vec![None, Some("add_habit"), Some("other")]), select(USERS.to_vec()), millis())
            .prop_map(|(name, tool, by, millis)| Write::Revoke {
                session: session(name),
                tool: tool.map(Into::into),
                by: user(by),
                at: at(millis),
            }),
        4 => (name(), message()).prop_map(|(name, message)| Write::Message { session: session(name), message }),
        8 => (name(), 1..=CALLS, millis(), step()).prop_map(|(name, number, millis, step)| {
            Write::Call { session: session(name), call: call(number), at: at(millis), transition: step }
        }),
    ]
}

fn started(name: &str, number: u64, key: Option<&str>) -> Write {
    started_in(name, number, key, u64::MAX)
}

/// Generates the bound of stored bytes before a turn, mostly enough. A job stores some hundreds of
/// bytes a fact.
fn room() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(u64::MAX), 1 => 0..6_000_u64]
}

fn started_in(name: &str, number: u64, key: Option<&str>, max_stored_bytes: u64) -> Write {
    let key = key.map(|key| IdempotencyKey::new(key).unwrap());
    Write::TurnStarted {
        session: session(name),
        turn: turn(number),
        at: at(number.cast_signed()),
        options: TurnOptions { key, ..TurnOptions::default() },
        text: digest(1),
        max_stored_bytes,
    }
}

fn turn_step() -> impl Strategy<Value = TurnStep> {
    prop_oneof![
        (1..4_u32, 1..=PLACES).prop_map(|(round, from)| TurnStep::Called {
            round,
            from,
            usage: Usage { prompt_tokens: round, cached_tokens: 0, completion_tokens: 1 },
        }),
        Just(TurnStep::Dismissed),
        Just(TurnStep::Resumed),
        Just(TurnStep::Suspended),
    ]
}

fn message() -> impl Strategy<Value = ChatMessage> {
    let content = prop_oneof![
        ".{0,12}".prop_map(|text| Imported::model(text).into()),
        ".{0,12}".prop_map(Content::user),
        ".{0,12}".prop_map(|text| Content::model(text, Ending::Interrupted)),
        Just(Content::Notice { notice: Notice::SuggestClear }),
        Just(Content::Cleared),
    ];
    (0..=PLACES, 1..=TURNS, 1..20_i64, content).prop_map(|(seq, number, millis, content)| {
        ChatMessage { seq, turn: turn(number), at: at(millis), content }
    })
}

/// Generates the first steps of one call in order, with or without a question.
fn life() -> impl Strategy<Value = Vec<Write>> {
    let which = (select(SESSIONS.to_vec()), 1..=CALLS, any::<bool>(), approval());
    (which, 1..7_usize, ended(), resolved()).prop_map(
        |((name, number, asks, approval), length, end, resolved)| {
            let question = [awaiting(7), approved(7, owner(name), approval, None, 600)];
            let steps = [proposed(owner(name), 1, number)]
                .into_iter()
                .chain(question.into_iter().filter(|_| asks))
                .chain([running(7), Transition::Ended(end), resolved]);
            let write = |transition| Write::Call {
                session: session(name),
                call: call(number),
                at: at(9),
                transition,
            };
            steps.take(length).map(write).collect()
        },
    )
}

fn step() -> impl Strategy<Value = Transition> {
    let shown = || select(vec![7, 7, 7, 8]);
    prop_oneof![
        (select(USERS.to_vec()), 1..=TURNS, 0..=PLACES).prop_map(|(owner, number, seq)| proposed(
            user(owner),
            number,
            seq
        )),
        shown().prop_map(awaiting),
        (shown(), select(USERS.to_vec()), approval(), typed(), select(vec![600, 5])).prop_map(
            |(byte, by, approval, typed, until)| approved(byte, user(by), approval, typed, until)
        ),
        select(USERS.to_vec()).prop_map(|by| Transition::Revoked { by: user(by) }),
        shown().prop_map(running),
        ended().prop_map(Transition::Ended),
        resolved(),
    ]
}

fn resolved() -> impl Strategy<Value = Transition> {
    let resolution = select(vec![EffectResolution::TookEffect, EffectResolution::DidNot]);
    let by = prop_oneof![
        Just(ResolvedBy::Handler),
        select(USERS.to_vec()).prop_map(|name| ResolvedBy::Person { user: user(name) }),
    ];
    (resolution, by).prop_map(|(resolution, by)| Transition::Resolved { resolution, by })
}

fn approval() -> impl Strategy<Value = Approval> {
    prop_oneof![
        3 => Just(Approval::Once),
        2 => (1..3_u8, select(vec![9, 600]), resource())
            .prop_map(|(byte, until, resource)| Approval::Always { schema: digest(byte), until: at(until), uses: 1, resource }),
        1 => (1..=CALLS, 1..3_u8, 1..3_u32, resource())
            .prop_map(|(by, byte, number, resource)| Approval::Standing { by_call: call(by), schema: digest(byte), resource, number }),
        1 => Just(Approval::Edited),
    ]
}

/// Generates the resource that a standing approval is bound to.
fn resource() -> impl Strategy<Value = Option<Digest>> {
    select(vec![None, None, Some(digest(3))])
}

/// Generates arguments that a person types instead of the shown ones.
fn typed() -> impl Strategy<Value = Option<Arc<Value>>> {
    select(vec![None, None, Some(json!({ "id": 8 }).into())])
}

fn ended() -> impl Strategy<Value = Ended> {
    let outcome = prop_oneof![
        data().prop_map(ToolOutcome::ok),
        data().prop_map(|data| ToolOutcome::ok(Value::Null).with_metadata("stop_loop", data)),
        ".{0,8}".prop_map(|reason| ToolOutcome::error("r3_quota", reason)),
        Just(ToolOutcome::cancelled(CancelReason::Denied)),
    ];
    let effect = select(vec![Effect::None, Effect::Committed, Effect::Unknown]);
    let result = select(vec![CallResult::Shown, CallResult::Discarded]);
    let decided_by = select(vec![None, None, Some(user("kim")), Some(user("lee"))]);
    let arguments = select(vec![None, None, Some(json!({ "id": 7 }).into())]);
    (arguments, outcome, effect, result, decided_by).prop_map(
        |(arguments, outcome, effect, result, decided_by)| Ended {
            arguments,
            outcome,
            effect,
            result,
            decided_by,
        },
    )
}

fn data() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({ "수면": [1, 2.5, null], "b": { "a": true } })),
        any::<f64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!({ "number": number })),
        ".{0,8}".prop_map(Value::from),
    ]
}

fn proposed(user: UserId, number: u64, seq: u64) -> Transition {
    Transition::Proposed(Proposal {
        model: None,
        opaque: None,
        turn: turn(number),
        seq,
        name: "add_habit".into(),
        arguments: r#"{"id": "수면"}"#.into(),
        user,
    })
}

fn awaiting(byte: u8) -> Transition {
    Transition::Awaiting {
        arguments: json!({ "id": byte }).into(),
        schema: digest(1),
        shown: None,
        digest: digest(byte),
        expires_at: at(600),
    }
}

fn approved(
    byte: u8,
    by: UserId,
    approval: Approval,
    arguments: Option<Arc<Value>>,
    until: i64,
) -> Transition {
    let digest = digest(byte);
    let expires_at = at(until);
    Transition::Approved { digest, by, approval, arguments, expires_at, seal: None }
}

fn running(byte: u8) -> Transition {
    Transition::Running { arguments: json!({ "id": byte }).into(), digest: digest(byte) }
}

fn owner(session: &str) -> UserId {
    user(if session == "s" { "kim" } else { "lee" })
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(super) fn call(number: u64) -> CallId {
    CallId::new(Uuid::from_u128(number.into()))
}

pub(super) fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

pub(super) fn turn(number: u64) -> TurnId {
    TurnId::new(Uuid::from_u128(number.into()))
}

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

const fn digest(byte: u8) -> Digest {
    Digest::new([byte; 32])
}
