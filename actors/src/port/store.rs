//! The store port: durable facts go in through an open transaction, and reads do not wait for it.

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
    OpenTurn, PartSize, SearchPage, SearchQuery, SessionPage, SessionSummary, SessionTitle,
    StoreError, StoredTurn, SubmittedTurn, TranscriptPart, TurnStep,
};
use crate::{
    ledger::{CallState, ChainEnd, ErasedChain, Link, Seal, SealKeys, Transition},
    protocol::{
        Approval, CallId, CallResult, ChatMessage, Digest, Effect, IdempotencyKey, ModelName,
        ResolvedBy, SessionId, Shown, Timestamp, ToolOutcome, TurnEnding, TurnError, TurnId,
        TurnOptions, Usage, UserId,
    },
};

/// A durable store. The runtime never drops the futures of a [`Transaction`]. It may drop those of
/// reads.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Returns the type that [`Transaction::connection`] and [`Reader::connection`] return.
    fn connection_type(&self) -> ConnectionType;

    /// Returns the keys that seal persons' decisions and the owners of sessions. An approval that
    /// none of them sealed does not count. [`owner`](Self::owner) and [`session`](Self::session)
    /// fail if the owner's seal does not fit. If the tables outlive the process, so must the keys,
    /// and a program that can write the tables must not have them.
    fn keys(&self) -> &SealKeys;

    /// Returns how many transactions may be open at once. For SQLite this is 1.
    fn writers(&self) -> usize {
        1
    }

    /// Returns whether each lent transaction is to be one of its own. A handler holds locks then while
    /// no plain write waits for it, and no plain write holds locks while a handler runs.
    fn lends_apart(&self) -> bool {
        false
    }

    /// Returns the right to the store, which one runtime at a time has. A second runtime would take
    /// what the first one runs for what a crash cut off. A store with only one handle needs none,
    /// and a store that wraps another returns that one's.
    fn occupancy(&self) -> Option<&Occupancy>;

    /// Returns whether tools may only read here, because no lasting record of their effects would
    /// be kept. A runtime then accepts no other tools.
    fn only_reads(&self) -> bool {
        false
    }

    /// Opens a write transaction.
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>>;

    /// Lends a connection that cannot write, for reading tools.
    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>>;

    /// Returns the owner of a session, or `None` if it was never opened.
    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>>;

    /// Returns a session with its transcript, including ended calls, or `None` if it was never
    /// opened.
    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>>;

    /// Returns a part of a transcript: at most this much, from this number on. It is empty if it
    /// begins after the end. No more than the part is held in memory, because a slow reader holds
    /// it until it goes on.
    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>>;

    /// Returns the sessions whose turn has begun and not ended, the earliest turn first. Those of
    /// one moment are ordered by the names of their sessions.
    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>>;

    /// Returns the temporary chats that have a text or a title, in the order of their ids, and at
    /// most `most` of them. A chat is no longer listed after its texts are erased, so a caller that erases each
    /// part comes to an end.
    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>>;

    /// Returns a page of the chats of a user, newest first: the sessions that have a message of the
    /// user. Those of one moment are ordered by their ids, the last id first. A session whose owner
    /// cannot be confirmed is left out.
    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>>;

    /// Returns the summary with which a session is listed among the chats of this user. Returns
    /// `None` if it is not: it has no message of the user, or is not this user's.
    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>>;

    /// Searches the texts that the chats of a user show: what the user and the models have said
    /// since the last clearing. The newest chat comes first, as in [`sessions`](Self::sessions).
    /// [`UnfinishedSearch`](super::UnfinishedSearch) compares the texts and keeps the bounds.
    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchPage, StoreError>>;

    /// Returns the turn that was submitted to this session under this key.
    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>>;

    /// Returns a turn of this session, or `None` if no such turn has begun in it.
    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>>;

    /// Returns the calls that match, in the order in which the store took their proposals. A later
    /// proposal comes after all earlier ones, even if both have the same moment, so a reader that
    /// continues after the last call of a page misses none. Refused if [`LedgerFilter::after`]
    /// names no call of the filter's user and session. An unreadable call hides no other:
    /// [`LedgerRow::unreadable`] says what cannot be read.
    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>>;

    /// Returns all transitions of a session in the order of their chain, and the end that the
    /// session's row states.
    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>>;

    /// Erases all sessions of a user, including their names, and keeps an [`ErasedChain`] of each.
    /// Refused while a runtime has the store. It can be cut off at any moment and ordered again.
    /// The rows are erased in one transaction. The bytes that they leave in files are overwritten
    /// afterwards, even if no rows were left.
    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>>;

    /// Returns what is kept of the chains of forgotten users and deleted sessions, in the order of
    /// their ids.
    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>>;

    /// Ends the store after everything else has ended. Files are closed and locks released.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// An open write transaction. Dropping it without `commit` undoes all of it.
pub trait Transaction: Send {
    /// Begins a part that can be undone by itself. Parts can be nested; `keep` and `undo` end the
    /// innermost. If facts about this `call` of this session will be written in the part, a store
    /// may read in the same step what it must know for that.
    fn savepoint<'a>(
        &'a mut self,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps what came since the savepoint. Fails if the transaction was ended in between.
    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Undoes what came since the savepoint, and ends it.
    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes facts in their order, up to the first that is refused. A refusal
    /// ([`StoreError::Illegal`], [`StoreError::Refused`], [`StoreError::TooMuchStored`]) leaves the
    /// transaction usable, but may leave a part of the facts until the savepoint around them is
    /// undone.
    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Sets how long a borrower may have the connection. A statement of the borrower's that runs
    /// longer is cut off, even if the borrower is gone. The store's own statements are never cut
    /// off.
    fn lend_for(&mut self, _deadline: Duration) {}

    /// Returns the driver's own connection, e.g. `SqliteConnection`. Only a savepoint shows that a
    /// borrower has left the transaction as it was, so borrow it inside of one.
    fn connection(&mut self) -> &mut (dyn Any + Send);

    /// Makes everything that was kept durable.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// A connection that cannot write. Dropping it returns it to the store.
pub trait Reader: Send {
    /// Returns the driver's own connection, e.g. `SqliteConnection`.
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
    /// The session exists and belongs to this user. Writing it again changes nothing. Another user
    /// is refused.
    Session {
        /// The id of the session.
        session: SessionId,
        /// The user that owns it.
        user: UserId,
        /// The moment at which it was opened.
        at: Timestamp,
    },
    /// The user gives the chat a title. Refused if the session is not this user's. An erasure of
    /// the chat's texts takes it away.
    Titled {
        /// The session of the chat.
        session: SessionId,
        /// The user that owns it.
        user: UserId,
        /// The title; `None` for the one that is made of a text.
        title: Option<SessionTitle>,
    },
    /// The chat of the session is temporary: its texts are to be erased. Writing it again changes
    /// nothing.
    Temporary {
        /// The session of the chat.
        session: SessionId,
    },
    /// The texts of a temporary chat, and the instructions of its turns, are erased, and the store
    /// no longer counts their bytes. No entry up to here is read again, and later ones have higher
    /// numbers. The ledger of its calls is kept. Refused for a chat that is not temporary.
    Erased {
        /// The session of the chat.
        session: SessionId,
    },
    /// The user deletes the session: its texts, its calls and its name are erased, and the store no
    /// longer counts their bytes. An [`ErasedChain`] of it stays, without the name of a user. Its id
    /// is free afterwards, for every user. Refused if the session is not this user's, or if a turn
    /// or a call of it has not ended.
    Deleted {
        /// The session that is deleted.
        session: SessionId,
        /// The user that owns it.
        user: UserId,
        /// The moment of the deletion.
        at: Timestamp,
    },
    /// A turn began. Refused if another is open, or if another was submitted under the same key.
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
        /// The most bytes that may be stored for the session's user before the turn.
        /// [`stored_bytes`](super::stored_bytes) counts the messages and the steps of calls of all
        /// sessions, and [`stored_turn_bytes`](super::stored_turn_bytes) the instructions of turns.
        /// If more is stored, the turn is refused as [`StoreError::TooMuchStored`].
        max_stored_bytes: u64,
    },
    /// A step of a turn that has begun and not ended. Refused for any other turn.
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
        /// The entry of the transcript after which the end comes. Entries of the turn may follow,
        /// because a handler that outlived its session ends later than the turn.
        behind: u64,
        /// How the turn ended.
        ending: TurnEnding,
        /// Why it failed, if it did.
        error: Option<TurnError>,
        /// The cost of its completions.
        usage: Usage,
    },
    /// An entry of the transcript that is not a tool call. A second entry of the same number is
    /// refused.
    Message {
        /// The session of the transcript.
        session: SessionId,
        /// The entry itself.
        message: ChatMessage,
    },
    /// A step of a tool call. Writing the step that the call took last again changes nothing, and
    /// an illegal one is refused. With `Ended` the call becomes an entry of the transcript, under
    /// the number of its proposal.
    ///
    /// The store itself checks what an approval is bound to (see [`LedgerRow::after`]): seal,
    /// digest, arguments, user and time. It also checks that an approval is used once, and the
    /// standing approval that it may rest on. Each use of a standing approval has its own number.
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
    /// The standing approvals of a session end, each by a step of the call with which it began. If
    /// there are none, nothing changes.
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
    /// The time at which it was first opened.
    pub opened_at: Timestamp,
    /// The highest number of an entry of its transcript or of a proposed call, including erased
    /// ones. It is 0 if there is none.
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
    /// The validated arguments. Until they are validated, and if they were refused, the raw text.
    pub arguments: Arc<Value>,
    /// The arguments that were shown, if the user changed them. `arguments` are then what the user
    /// typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Arc<Value>>,
    /// The raw text of the arguments as the model wrote it.
    pub raw_arguments: Arc<str>,
    /// The model that asked, if it has a name. It is absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What the model wants back with the call. It is never shown.
    #[serde(skip)]
    pub opaque: Option<Arc<str>>,
    /// The digest of the tool with its schema, as the person was asked about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Every byte that the person saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<Shown>>,
    /// The digest to which the approval and the run are bound.
    pub digest: Option<Digest>,
    /// The state of the call.
    pub state: CallState,
    /// The outcome, once the call has ended.
    pub outcome: Option<ToolOutcome>,
    /// The effect on the world. It is absent until the call has ended.
    pub effect: Option<Effect>,
    /// Whether a reader received the outcome.
    pub result: Option<CallResult>,
    /// The user that decided.
    pub decided_by: Option<UserId>,
    /// How the call was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The code that proves that the approval was decided by a program that has the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// The time of the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// The time until which its request can be decided or, after its approval, until which it can
    /// begin to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The time at which its standing approval was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The handler or person that found out what it did, if its effect was unknown when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// The time at which its effect was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// The time of its proposal.
    pub proposed_at: Timestamp,
    /// The time of its end.
    pub ended_at: Option<Timestamp>,
    /// The names of stored values that cannot be read, because another program has written them.
    /// Instead of an outcome there is an error of the code `unreadable`, and instead of arguments
    /// the raw text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<&'static str>,
}
