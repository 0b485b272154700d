//! The store port: durable facts go in through an open transaction, reads go beside it.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use super::{
    BoxFuture, Forget, ForgetError, Forgotten, InterruptedSession, LedgerFilter, Occupancy,
    OpenTurn, PartSize, SessionPage, SessionSummary, StoreError, StoredTurn, SubmittedTurn,
    TranscriptPart, TurnStep,
};
use crate::{
    ledger::{CallState, ChainEnd, ErasedChain, Link, Seal, SealKeys, Transition},
    protocol::{
        Approval, CallId, CallResult, ChatMessage, Digest, Effect, IdempotencyKey, ModelName,
        ResolvedBy, SessionId, Shown, Timestamp, ToolOutcome, TurnEnding, TurnError, TurnId,
        TurnOptions, Usage, UserId,
    },
};

/// A durable store. Futures of [`Transaction`] are never dropped by the runtime; futures of reads may be.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Gives the type behind [`Transaction::connection`] and [`Reader::connection`].
    fn connection_type(&self) -> ConnectionType;

    /// Gives the keys that seal persons' decisions and the owners of sessions. An approval that none of them sealed
    /// does not count. [`owner`](Self::owner) and [`session`](Self::session) fail where the owner's seal does not fit.
    /// Where the tables outlive the process, so must the keys, and a program that can write the tables must not have
    /// them.
    fn keys(&self) -> &SealKeys;

    /// Tells how many transactions may be open at once. SQLite: 1.
    fn writers(&self) -> usize {
        1
    }

    /// Tells which runtime has the store: a second runtime would take what the first one runs for what a crash cut off.
    /// A store with only one handle needs none, and a store that wraps another gives that one's.
    fn occupancy(&self) -> Option<&Occupancy>;

    /// Tells whether tools may only read here, because no lasting record of their effects would be kept. A runtime then
    /// takes no other tools.
    fn only_reads(&self) -> bool {
        false
    }

    /// Opens a write transaction.
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>>;

    /// Lends a connection that cannot write, for reading tools.
    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>>;

    /// Gives the owner of a session; `None` if it was never opened.
    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>>;

    /// Gives a session with its transcript, ended calls included; `None` if it was never opened.
    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>>;

    /// Returns a part of a transcript: at most this much, from this number on. It is empty if it begins after the end. No
    /// more than the part is held in memory, because a slow reader holds it until it goes on.
    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>>;

    /// Gives the sessions whose turn has begun and not ended, earliest turn first; those of one moment by the names of
    /// their sessions.
    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>>;

    /// Returns the temporary chats that have a text, in the order of their ids, and no more than `most` of them. A chat is
    /// listed no more once its texts are erased, so a caller that erases each part comes to an end.
    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>>;

    /// Gives a page of the chats of a user, newest first: the sessions that have a message of the user. Those of one
    /// moment come by their ids, the last id first. A session whose owner cannot be confirmed is left out.
    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>>;

    /// Gives the turn that was submitted to this session under this key.
    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>>;

    /// Gives a turn of this session; `None` where no such turn has begun in it.
    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>>;

    /// Gives the calls that match, in the order in which the store took their proposals. A later proposal stands behind
    /// all earlier ones, also where both have one moment. So a reader that goes on behind the last call of a page
    /// misses none. Refused where [`LedgerFilter::after`] names no call of the filter's user and session. An unreadable
    /// call hides no other: it says so in [`LedgerRow::unreadable`].
    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>>;

    /// Gives all transitions of a session in the order of their chain, and the end that the session row tells.
    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>>;

    /// Erases all sessions of a user, their names included, and leaves an [`ErasedChain`] of each. Refused while a
    /// runtime has the store. It can be cut off at any moment and ordered again. The rows go in one transaction; the
    /// bytes that they leave in files are written over afterwards, also where no rows were left.
    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>>;

    /// Gives what stays of the chains of forgotten users, in the order of their ids.
    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>>;

    /// Ends the store after everything else has ended: files are closed, locks released.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// An open write transaction. Dropping it without `commit` undoes all of it.
pub trait Transaction: Send {
    /// Begins a part that can be undone by itself. Parts nest: `keep` and `undo` end the innermost.
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Begins a part in which this call will be written about. A store may look up in the same step what it must know then.
    fn savepoint_for<'a>(
        &'a mut self,
        _session: &'a SessionId,
        _call: CallId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.savepoint()
    }

    /// Keeps what came since the savepoint. Fails if the transaction was ended in between.
    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Undoes what came since the savepoint, and ends it.
    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes facts in their order, up to the first that is refused. A refusal ([`StoreError::Illegal`],
    /// [`StoreError::Refused`], [`StoreError::TooMuchStored`]) leaves the transaction usable, but may leave a part of the
    /// facts behind until the savepoint around them is undone.
    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Tells how long a borrower may have the connection. A statement of the borrower's that runs longer is cut off,
    /// also where the borrower has gone. The store's own statements are never cut off.
    fn lend_for(&mut self, _deadline: Duration) {}

    /// Gives the driver's own connection, e.g. `SqliteConnection`.
    fn connection(&mut self) -> &mut (dyn Any + Send);

    /// Makes everything that was kept durable.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// A connection that cannot write. Dropping it gives it back.
pub trait Reader: Send {
    /// Gives the driver's own connection, e.g. `SqliteConnection`.
    fn connection(&mut self) -> &mut (dyn Any + Send);
}

/// The type of connection that a store lends and a tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionType {
    id: TypeId,
    name: &'static str,
}

impl ConnectionType {
    /// Names this type.
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

/// A durable fact.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// The session exists and belongs to this user. Writing it again changes nothing; another user is refused.
    Session {
        /// The id of the session.
        session: SessionId,
        /// The user that owns it.
        user: UserId,
        /// The moment at which it was opened.
        at: Timestamp,
    },
    /// The chat of the session is temporary: its texts are to be erased. Writing it again changes nothing.
    Temporary {
        /// The session of the chat.
        session: SessionId,
    },
    /// The texts of a temporary chat are erased, and the instructions of its turns; the store counts their bytes no more.
    /// No entry up to here is read again, and later ones have higher numbers. The ledger of its calls stays. Refused for
    /// a chat that is not temporary.
    Erased {
        /// The session of the chat.
        session: SessionId,
    },
    /// A turn began. Refused while another is open, and where another was submitted under the same key.
    TurnStarted {
        /// The session in which it began.
        session: SessionId,
        /// The id of the turn.
        turn: TurnId,
        /// The moment at which it began.
        at: Timestamp,
        /// The options that it runs with.
        options: TurnOptions,
        /// The hash of what the user typed.
        text: Digest,
        /// The most bytes that may be stored of the session's user before the turn.
        /// [`stored_bytes`](super::stored_bytes) counts the messages and the steps of calls of all sessions, and
        /// [`stored_turn_bytes`](super::stored_turn_bytes) the instructions of turns. Where more is stored, the turn is
        /// refused as [`StoreError::TooMuchStored`].
        max_stored_bytes: u64,
    },
    /// A step of a turn that has begun and not ended; refused for any other turn.
    Turn {
        /// The session of the turn.
        session: SessionId,
        /// The turn that takes the step.
        turn: TurnId,
        /// The moment of the step.
        at: Timestamp,
        /// The step itself.
        step: TurnStep,
    },
    /// A turn ended.
    TurnEnded {
        /// The session of the turn.
        session: SessionId,
        /// The turn that ended.
        turn: TurnId,
        /// The moment at which it ended.
        at: Timestamp,
        /// The entry of the transcript behind which the end stands. Entries of the turn may follow: a handler that
        /// outlived its session ends later than the turn.
        behind: u64,
        /// How the turn ended.
        ending: TurnEnding,
        /// Why it failed, if it did.
        error: Option<TurnError>,
        /// The cost of its completions.
        usage: Usage,
    },
    /// An entry of the transcript that is no tool call. A second entry of the same number is refused.
    Message {
        /// The session of the transcript.
        session: SessionId,
        /// The entry itself.
        message: ChatMessage,
    },
    /// A step of a tool call. Writing the step that the call took last again changes nothing; an illegal one is
    /// refused. With `Ended` the call becomes an entry of the transcript, under the number of its proposal.
    ///
    /// The store itself checks what an approval is bound to (see [`LedgerRow::after`]): seal, digest, arguments, user
    /// and time. It also checks that an approval is used once, and the standing approval that it may rest on. Each use
    /// of a standing approval has its own number.
    Call {
        /// The session of the call.
        session: SessionId,
        /// The call that takes the step.
        call: CallId,
        /// The moment of the step.
        at: Timestamp,
        /// The step itself.
        transition: Transition,
    },
    /// The standing approvals of a session end, each by a step of the call about which it was given. Without any it
    /// changes nothing.
    Revoke {
        /// The session of the approvals.
        session: SessionId,
        /// The tool whose approvals end; `None` for all tools.
        tool: Option<Arc<str>>,
        /// The user that ends them.
        by: UserId,
        /// The moment at which they end.
        at: Timestamp,
    },
}

/// A session with its transcript and its open turn, as the store has them.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    /// The session's own row.
    pub row: SessionRow,
    /// The transcript, in order.
    pub messages: Vec<ChatMessage>,
    /// The turn that has begun and not ended.
    pub open_turn: Option<OpenTurn>,
}

/// A chat whose texts are to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporaryChat {
    /// The session of the chat.
    pub session: SessionId,
    /// The user that owns it.
    pub user: UserId,
}

/// A session without its transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The id of the session.
    pub session: SessionId,
    /// The user that owns it.
    pub user: UserId,
    /// The moment at which it was first opened.
    pub opened_at: Timestamp,
    /// The highest number of an entry of its transcript or of a proposed call, erased ones included; 0 for none.
    pub last_seq: u64,
}

/// The ledger's row of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LedgerRow {
    /// The session of the call.
    pub session: SessionId,
    /// The id of the call.
    pub call: CallId,
    /// The turn of the call.
    pub turn: TurnId,
    /// The number of the call in the transcript.
    pub seq: u64,
    /// The user whose data the call is about.
    pub user: UserId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The validated arguments, once there are any; until then, and where they were refused, the raw text.
    pub arguments: Arc<Value>,
    /// The arguments that were shown, where the user changed them: `arguments` are then what the user typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Arc<Value>>,
    /// The raw text of the arguments as the model wrote it.
    pub raw_arguments: Arc<str>,
    /// The model that asked, where it has a name; `None` without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What the model wants back with the call; never shown.
    #[serde(skip)]
    pub opaque: Option<Arc<str>>,
    /// The digest of the tool with its schema, as the person was asked about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Every byte that the person was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<Shown>>,
    /// The digest that the approval and the run are bound to.
    pub digest: Option<Digest>,
    /// The state of the call.
    pub state: CallState,
    /// The outcome, once the call has ended.
    pub outcome: Option<ToolOutcome>,
    /// The effect on the world; `None` until the call has ended.
    pub effect: Option<Effect>,
    /// Whether the outcome was given to a reader.
    pub result: Option<CallResult>,
    /// The user that decided.
    pub decided_by: Option<UserId>,
    /// How the call was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The code that shows that the approval was decided where the keys are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// The moment of the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// The moment until which its request can be decided; once approved, until which it can begin to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The moment at which the standing approval given about it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The handler or person that found out what it did, where its effect was unknown when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// The moment at which its effect was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// The moment of its proposal.
    pub proposed_at: Timestamp,
    /// The moment of its end.
    pub ended_at: Option<Timestamp>,
    /// The names of stored values that cannot be read: something beside this program has written them. In place of an
    /// outcome stands an error of the code `unreadable`, in place of arguments the raw text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<&'static str>,
}
