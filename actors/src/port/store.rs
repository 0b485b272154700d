//! The store port: durable facts go in through one open transaction, reads go beside it.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use super::{
    BoxFuture, Forget, ForgetError, Forgotten, InterruptedSession, Occupancy, OpenTurn, StoreError,
    SubmittedTurn, TranscriptPart, TurnStep,
};
use crate::{
    ledger::{CallState, ChainEnd, ErasedChain, Link, Seal, SealKeys, Transition},
    protocol::{
        Approval, CallId, CallResult, ChatMessage, Digest, Effect, IdempotencyKey, ResolvedBy,
        SessionId, Shown, Timestamp, ToolOutcome, TurnEnding, TurnError, TurnId, TurnOptions,
        Usage, UserId,
    },
};

/// A durable store. Futures of [`Transaction`] are never dropped by the runtime; futures of reads may be.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// The type behind [`Transaction::connection`] and [`Reader::connection`].
    fn connection_type(&self) -> ConnectionType;

    /// The keys under which what persons decided, and whose a session is, are sealed. An approval that none of them sealed
    /// counts for nothing, and [`owner`](Self::owner) and [`session`](Self::session) fail where the owner's seal does not
    /// fit. Where the tables outlive the process, so must the keys, and whoever can write the tables must not have them.
    fn keys(&self) -> &SealKeys;

    /// How many transactions may be open at once. SQLite: 1.
    fn writers(&self) -> usize {
        1
    }

    /// Tells which runtime has the store: what one runtime runs, another would take for what a crash cut off. A store of
    /// which there can be only one handle needs none, and one that hands on to another gives that one's.
    fn occupancy(&self) -> Option<&Occupancy>;

    /// Whether tools may only read here, because what they did would be recorded nowhere that stays. A runtime then takes no
    /// other tools.
    fn only_reads(&self) -> bool {
        false
    }

    /// Opens a write transaction.
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>>;

    /// Lends a connection that cannot write, for reading tools.
    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>>;

    /// Gives whose session it is; `None` if it was never opened.
    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>>;

    /// Gives a session with its transcript, the calls that have ended included; `None` if it was never opened.
    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>>;

    /// Gives a part of a transcript: of at most `max` numbers from this one on. One that begins behind the end is empty.
    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>>;

    /// Gives the sessions whose turn has begun and not ended, the turn that began first before the others; those of one
    /// moment by the names of their sessions.
    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>>;

    /// Gives the turn that was submitted to this session under this key.
    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>>;

    /// Gives the calls that match, in the order in which they were proposed. A call of which something cannot be read hides
    /// no other: it says so in [`LedgerRow::unreadable`].
    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>>;

    /// Gives all transitions of a session in the order of their chain, and where the session row says it ends.
    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>>;

    /// Erases all sessions of a user, their names included, and leaves an [`ErasedChain`] of each. Refused while a runtime
    /// has the store. It can be cut off at any moment and ordered again: the rows go in one transaction, and the bytes
    /// that they leave in files are written over afterwards, whether there were rows or not.
    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>>;

    /// Gives what stays of the chains of users who were forgotten, in the order of their ids.
    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>>;

    /// Ends the store after everything else has ended: files are closed, locks released.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// An open write transaction. Dropped without `commit`, nothing of it ever happened.
pub trait Transaction: Send {
    /// Begins a part that can be undone by itself. Parts nest: `keep` and `undo` end the innermost.
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps what came since the savepoint. Fails if somebody ended the transaction in between.
    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Undoes what came since the savepoint, and ends it.
    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes one fact. A refusal ([`StoreError::Illegal`], [`StoreError::Refused`], [`StoreError::TooMuchStored`]) leaves the transaction usable, but
    /// may leave a part of the fact behind until the savepoint around it is undone.
    fn write<'a>(&'a mut self, write: &'a Write) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Writes facts in their order, up to the first that is refused. A store may do it in fewer steps.
    fn write_all<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            for write in writes {
                self.write(write).await?;
            }
            Ok(())
        })
    }

    /// Says about which call the next savepoint will write: a store may look up, as that begins, what it must know then.
    fn prefetch(&mut self, _call: CallKey) {}

    /// Writes facts in their order, keeps the innermost part and begins another. After a refusal the part that was written
    /// in is still open, to be undone. A store may do it in fewer steps.
    fn advance_savepoint<'a>(
        &'a mut self,
        writes: &'a [Write],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.write_all(writes).await?;
            self.keep().await?;
            self.savepoint().await
        })
    }

    /// Says for how long a borrower may have the connection. A statement that the borrower left running is cut off then, and
    /// so is one of a borrower that has not ended; what the store itself does is never cut off.
    fn lend_for(&mut self, _deadline: Duration) {}

    /// The driver's own connection, e.g. `SqliteConnection`.
    fn connection(&mut self) -> &mut (dyn Any + Send);

    /// Makes all that was kept durable.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// Names a call and the session that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallKey {
    /// The session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
}

/// A connection that cannot write. Given back when dropped.
pub trait Reader: Send {
    /// The driver's own connection, e.g. `SqliteConnection`.
    fn connection(&mut self) -> &mut (dyn Any + Send);
}

/// Names the type of connection that a store lends and a tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionType {
    id: TypeId,
    name: &'static str,
}

impl ConnectionType {
    /// The name of this type.
    #[must_use]
    pub fn of<C: Any>() -> Self {
        Self { id: TypeId::of::<C>(), name: std::any::type_name::<C>() }
    }
}

impl fmt::Display for ConnectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One durable fact.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// The session exists and belongs to this user. Writing it again changes nothing; another user is refused.
    Session {
        /// The session.
        session: SessionId,
        /// Its user.
        user: UserId,
        /// When it was opened.
        at: Timestamp,
    },
    /// A turn began. Refused while another is open, and where another was submitted under the same key.
    TurnStarted {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// When.
        at: Timestamp,
        /// How it is run.
        options: TurnOptions,
        /// The hash of what the user typed.
        text: Digest,
        /// So much may be stored of the session's user, counted by [`stored_bytes`](super::stored_bytes) over the
        /// messages and the steps of calls of all sessions. Where it is more, the turn is refused as
        /// [`StoreError::TooMuchStored`].
        max_stored_bytes: u64,
    },
    /// Something happened to a turn that has begun and not ended; refused for any other.
    Turn {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// When.
        at: Timestamp,
        /// What.
        step: TurnStep,
    },
    /// A turn ended.
    TurnEnded {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// When.
        at: Timestamp,
        /// The entry of the transcript behind which the end stands. Entries of the turn may follow: a handler that outlived
        /// its session ends later than the turn.
        behind: u64,
        /// How.
        ending: TurnEnding,
        /// Why it failed, if it did.
        error: Option<TurnError>,
        /// What it cost.
        usage: Usage,
    },
    /// An entry of the transcript that is no tool call. A second entry of the same number is refused.
    Message {
        /// The session.
        session: SessionId,
        /// The entry.
        message: ChatMessage,
    },
    /// A step of a tool call. Writing the step that the call took last again changes nothing; an illegal one is
    /// refused. With `Ended` the call becomes an entry of the transcript, under the number it was proposed with.
    ///
    /// The store itself holds what an approval is bound to (see [`LedgerRow::after`]): seal, digest, arguments, user, the
    /// time of its question and its own, that it is used once, and the standing approval it may rest on, of which each use
    /// has a number of its own.
    Call {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
        /// When.
        at: Timestamp,
        /// The step.
        transition: Transition,
    },
    /// The standing approvals of a session end: each by a step of the call about which it was given. Without any it
    /// changes nothing.
    Revoke {
        /// The session.
        session: SessionId,
        /// Only of this tool; `None`: all.
        tool: Option<Arc<str>>,
        /// Who ends them.
        by: UserId,
        /// When.
        at: Timestamp,
    },
}

/// What the store says of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    /// The session itself.
    pub row: SessionRow,
    /// Its transcript, in order.
    pub messages: Vec<ChatMessage>,
    /// The turn that has begun and not ended.
    pub open_turn: Option<OpenTurn>,
}

/// A session without its transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// When it was opened first.
    pub opened_at: Timestamp,
    /// The highest number that an entry of its transcript or a proposed call has; 0 for none.
    pub last_seq: u64,
}

/// Which calls of the ledger are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only this call.
    pub call: Option<CallId>,
    /// Only calls that have not ended.
    pub only_open: bool,
    /// Only calls about which a standing approval was given that has not been revoked.
    pub only_grants: bool,
    /// Only calls of which nobody can tell whether they took effect.
    pub only_unknown: bool,
    /// Only calls that rest on the standing approval that was given about this one.
    pub rests_on: Option<CallId>,
}

/// All that the ledger says of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerRow {
    /// The session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
    /// The turn.
    pub turn: TurnId,
    /// Its place in the transcript.
    pub seq: u64,
    /// Whose data it is about.
    pub user: UserId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The validated arguments, once there are any; until then, and where they were refused, the raw text.
    pub arguments: Value,
    /// The arguments that were shown, where the user changed them: `arguments` are then what the user typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Value>,
    /// The raw text of the arguments as the model wrote it.
    pub raw_arguments: Arc<str>,
    /// The tool with its schema, as the person was asked about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Every byte that the person was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<Shown>>,
    /// What the approval and the run are bound to.
    pub digest: Option<Digest>,
    /// Where it stands.
    pub state: CallState,
    /// How it ended.
    pub outcome: Option<ToolOutcome>,
    /// What it did to the world; `None` until it has ended.
    pub effect: Option<Effect>,
    /// Whether its outcome was given to anybody.
    pub result: Option<CallResult>,
    /// Who decided.
    pub decided_by: Option<UserId>,
    /// How it was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Shows that the approval was decided where the keys are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// When it was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// Until when its question can be answered; once it is approved, until when it can begin to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When the standing approval that was given about it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Who found out what it did, where its effect was unknown when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What the store holds of the call and cannot read, by name: something beside this program has written it. In place of
    /// an outcome stands an error of the code `unreadable`, in place of arguments the raw text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<&'static str>,
}
