//! Facts that the promises write, and functions that write them.

use serde_json::{Value, json};
use uuid::Uuid;

use madang_actors::{
    ledger::{Ended, Link, Proposal, Transition, text_digest, verify},
    port::{
        LedgerFilter, LedgerRow, Store, StoreError, StoredEnd, StoredSession, Transaction,
        TurnStep, Write,
    },
    protocol::{
        Approval, CallId, CallRecord, CallResult, CancelReason, ChatMessage, Content, Digest,
        Effect, Ending, ModelName, SessionId, Timestamp, ToolOutcome, TurnEnding, TurnId,
        TurnOptions, Usage, UserId,
    },
};

pub(super) fn session(name: &str) -> SessionId {
    SessionId::new(name).expect("a short name")
}

pub(super) fn user(name: &str) -> UserId {
    UserId::new(name).expect("a short name")
}

pub(super) fn turn(number: u128) -> TurnId {
    TurnId::new(Uuid::from_u128(number))
}

pub(super) fn call(number: u128) -> CallId {
    CallId::new(Uuid::from_u128(number))
}

pub(super) const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) const fn digest(byte: u8) -> Digest {
    Digest::new([byte; 32])
}

pub(super) fn opened(name: &str, owner: &str) -> Write {
    Write::Session { session: session(name), user: user(owner), at: at(1) }
}

pub(super) fn began(name: &str, number: u128) -> Write {
    submitted(name, number, TurnOptions::default(), "hi")
}

/// Begins a turn with these options and this text.
pub(super) fn submitted(name: &str, number: u128, options: TurnOptions, text: &str) -> Write {
    Write::TurnStarted {
        session: session(name),
        turn: turn(number),
        at: at(i64::try_from(number).expect("small")),
        options,
        text: text_digest(text),
        max_stored_bytes: u64::MAX,
    }
}

pub(super) fn turn_step(name: &str, number: u128, step: TurnStep) -> Write {
    Write::Turn { session: session(name), turn: turn(number), at: at(5), step }
}

pub(super) fn ended(name: &str, number: u128) -> Write {
    ended_behind(name, number, 1)
}

pub(super) fn ended_behind(name: &str, number: u128, behind: u64) -> Write {
    let usage = Usage { prompt_tokens: 3, cached_tokens: 2, completion_tokens: 1 };
    let end = StoredEnd { ending: TurnEnding::Answered, error: None, usage };
    ended_with(name, number, behind, end)
}

pub(super) fn ended_with(name: &str, number: u128, behind: u64, end: StoredEnd) -> Write {
    let StoredEnd { ending, error, usage } = end;
    let session = session(name);
    let turn = turn(number);
    Write::TurnEnded { session, turn, at: at(9), behind, ending, error, usage }
}

pub(super) fn text(seq: u64, text: &str) -> ChatMessage {
    ChatMessage { seq, turn: turn(1), at: at(2), content: Content::user(text) }
}

pub(super) fn answer(seq: u64, text: &str) -> ChatMessage {
    let content = Content::model(text, Ending::Complete);
    ChatMessage { seq, turn: turn(1), at: at(3), content }
}

pub(super) fn says(name: &str, message: &ChatMessage) -> Write {
    Write::Message { session: session(name), message: message.clone() }
}

pub(super) fn step(name: &str, number: u128, millis: i64, transition: Transition) -> Write {
    Write::Call { session: session(name), call: call(number), at: at(millis), transition }
}

pub(super) fn proposed(seq: u64) -> Transition {
    proposed_in(1, seq)
}

pub(super) fn proposed_in(number: u128, seq: u64) -> Transition {
    Transition::Proposed(proposal("kim", "add_habit", number, seq))
}

/// Proposes a call of another user or another tool, in turn 1.
pub(super) fn proposed_by(owner: &str, tool: &str, seq: u64) -> Transition {
    Transition::Proposed(proposal(owner, tool, 1, seq))
}

pub(super) fn proposal(owner: &str, tool: &str, number: u128, seq: u64) -> Proposal {
    Proposal {
        turn: turn(number),
        seq,
        name: tool.into(),
        arguments: r#"{"id": "수면"}"#.into(),
        model: ModelName::new("small").ok(),
        opaque: Some("signed: 수면".into()),
        user: user(owner),
    }
}

pub(super) fn awaiting(byte: u8) -> Transition {
    awaiting_with(byte, json!({ "id": "수면" }))
}

pub(super) fn awaiting_with(byte: u8, arguments: Value) -> Transition {
    Transition::Awaiting {
        arguments: arguments.into(),
        schema: digest(byte),
        shown: None,
        digest: digest(byte),
        expires_at: at(600),
    }
}

pub(super) fn approved(byte: u8, by: &str) -> Transition {
    approved_as(byte, by, Approval::Once, None)
}

/// Makes an approval that expires at 500.
pub(super) fn approved_as(
    byte: u8,
    by: &str,
    approval: Approval,
    arguments: Option<Value>,
) -> Transition {
    let digest = digest(byte);
    let by = user(by);
    let arguments = arguments.map(Into::into);
    Transition::Approved { digest, by, approval, arguments, expires_at: at(500), seal: None }
}

pub(super) fn running(byte: u8) -> Transition {
    running_with(byte, json!({ "id": "수면" }))
}

pub(super) fn running_with(byte: u8, arguments: Value) -> Transition {
    Transition::Running { arguments: arguments.into(), digest: digest(byte) }
}

pub(super) fn ok(data: &str) -> Ended {
    let outcome = ToolOutcome::ok(json!(data)).with_metadata("stop_loop", json!(true));
    Ended {
        arguments: None,
        outcome,
        effect: Effect::Committed,
        result: CallResult::Shown,
        decided_by: None,
    }
}

/// Ends a call that kim denied.
pub(super) fn denied() -> Transition {
    let outcome = ToolOutcome::cancelled(CancelReason::Denied);
    let decided_by = Some(user("kim"));
    Transition::Ended(Ended { outcome, effect: Effect::None, decided_by, ..ok("") })
}

/// Makes the record of call 1, proposed at 10, which ran, was done and ended at 14.
pub(super) fn record() -> CallRecord {
    CallRecord {
        id: call(1),
        name: "add_habit".into(),
        arguments: json!({ "id": "수면" }).into(),
        model: ModelName::new("small").ok(),
        opaque: Some("signed: 수면".into()),
        asked: None,
        approval: None,
        outcome: Some(ok("done").outcome),
        effect: Effect::Committed,
        resolved_by: None,
        result: CallResult::Shown,
        proposed_at: at(10),
        ended_at: at(14),
    }
}

/// An open transaction that takes each of these steps.
pub(super) struct OpenTransaction(Box<dyn Transaction>);

impl OpenTransaction {
    pub(super) async fn begin(store: &dyn Store) -> Self {
        Self(store.begin().await.expect("the store takes writes"))
    }

    pub(super) async fn savepoint(&mut self) {
        self.0.savepoint(None).await.expect("a savepoint");
    }

    /// Begins a part with these facts.
    pub(super) async fn part(&mut self, writes: &[Write]) {
        self.savepoint().await;
        self.write(writes).await;
    }

    /// Begins a part that names this call ahead.
    pub(super) async fn savepoint_for(&mut self, (name, number): (&str, u128)) {
        self.0.savepoint(Some((&session(name), call(number)))).await.expect("a savepoint");
    }

    /// Begins a part with these facts, and keeps it.
    pub(super) async fn kept(&mut self, writes: &[Write]) {
        self.part(writes).await;
        self.keep().await;
    }

    /// Begins a part that names this call ahead, with these facts, and keeps it.
    pub(super) async fn kept_for(&mut self, call: (&str, u128), writes: &[Write]) {
        self.savepoint_for(call).await;
        self.write(writes).await;
        self.keep().await;
    }

    pub(super) async fn write(&mut self, writes: &[Write]) {
        self.0.write(writes).await.expect("the store takes these facts");
    }

    pub(super) async fn keep(&mut self) {
        self.0.keep().await.expect("the savepoint is there");
    }

    pub(super) async fn undo(&mut self) {
        self.0.undo().await.expect("the savepoint is there");
    }

    pub(super) async fn commit(self) {
        self.0.commit().await.expect("a commit");
    }

    /// Writes facts of which the store must refuse one.
    pub(super) async fn refuses(&mut self, writes: &[Write]) {
        must_be_refusal(&self.0.write(writes).await.expect_err("the store refuses these facts"));
    }

    /// Requires that there is no part to keep or to undo.
    pub(super) async fn has_no_part(mut self, keeps: bool) {
        let ended = if keeps { self.0.keep().await } else { self.0.undo().await };
        ended.expect_err("there is no savepoint");
    }
}

fn must_be_refusal(error: &StoreError) {
    let is_refusal = matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_));
    assert!(is_refusal, "not a refusal: {error:?}");
}

/// Writes facts in a transaction of their own.
pub(super) async fn write(store: &dyn Store, writes: &[Write]) -> Result<(), StoreError> {
    let writes: Vec<_> = writes.iter().map(|write| sealed(store, write)).collect();
    write_as_it_is(store, &writes).await
}

/// Adds the seal of the fact's decision.
pub(super) fn sealed(store: &dyn Store, write: &Write) -> Write {
    let Write::Call { session, call, at, transition } = write else { return write.clone() };
    let transition = store.keys().sealed(session, *call, *at, transition.clone());
    Write::Call { session: session.clone(), call: *call, at: *at, transition }
}

pub(super) async fn write_as_it_is(store: &dyn Store, writes: &[Write]) -> Result<(), StoreError> {
    let mut transaction = store.begin().await?;
    transaction.savepoint(None).await?;
    transaction.write(writes).await?;
    transaction.keep().await?;
    transaction.commit().await
}

/// Writes facts that the store must take.
pub(super) async fn written(store: &dyn Store, writes: &[Write]) {
    write(store, writes).await.expect("the store takes these facts");
}

/// Writes facts that the store must refuse, and checks that none of them stays.
pub(super) async fn refused(store: &dyn Store, writes: &[Write]) -> StoreError {
    let error = write(store, writes).await.expect_err("the store refuses these facts");
    must_be_refusal(&error);
    error
}

/// Reads the chain of a session, which verifies.
pub(super) async fn verified(store: &dyn Store, name: &str) -> Vec<Link> {
    let (links, end) = store.links(&session(name)).await.expect("the store can be read");
    assert_eq!(end.length, links.len() as u64);
    assert_eq!(verify(&session(name), &links, &end), Ok(()));
    links
}

/// Finds calls.
pub(super) async fn calls(store: &dyn Store, filter: &LedgerFilter) -> Vec<CallId> {
    let rows = store.calls(filter).await.expect("the store can be read");
    rows.into_iter().map(|row| row.call).collect()
}

/// Opens a session of kim's with turn 1.
pub(super) async fn chat(store: &dyn Store, name: &str) {
    written(store, &[opened(name, "kim"), began(name, 1)]).await;
}

pub(super) async fn stored(store: &dyn Store, name: &str) -> StoredSession {
    store
        .session(&session(name))
        .await
        .expect("the store can be read")
        .expect("the session was opened")
}

pub(super) async fn texts(store: &dyn Store, name: &str) -> Vec<String> {
    let say = |message: ChatMessage| match message.content {
        Content::User { text, .. } | Content::Model { text, .. } => text.to_string(),
        Content::ToolCall(record) => record.name.to_string(),
        Content::Notice { .. } | Content::Cleared => "-".into(),
    };
    stored(store, name).await.messages.into_iter().map(say).collect()
}

pub(super) async fn row(store: &dyn Store, number: u128) -> LedgerRow {
    let filter = LedgerFilter::call(call(number));
    let mut rows = store.calls(&filter).await.expect("the store can be read");
    assert_eq!(rows.len(), 1, "one row a call");
    rows.remove(0)
}
