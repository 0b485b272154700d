//! Wraps a store and takes some of its steps differently: a test observes, extends or breaks them.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link, SealKeys},
    port::{
        BoxFuture, ConnectionType, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, PartSize, Reader, SearchPage, SearchQuery, SessionPage,
        SessionSummary, Store, StoreError, StoredSession, StoredTurn, SubmittedTurn, TemporaryChat,
        Transaction, TranscriptPart, Write,
    },
    protocol::{CallId, IdempotencyKey, SessionId, TurnId, UserId},
};

/// The steps of a store and its transactions. By default, each step is taken as the wrapped store
/// takes it.
pub trait Steps: fmt::Debug + Send + Sync + 'static {
    /// Returns the type of the lent connections.
    fn connection_type(&self, of: &dyn Store) -> ConnectionType {
        of.connection_type()
    }

    /// Returns whether tools may only read.
    fn only_reads(&self, of: &dyn Store) -> bool {
        of.only_reads()
    }

    /// Begins a transaction.
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        of.begin()
    }

    /// Takes a read, which `_what` describes. Each of the reads below calls this by default.
    fn read<'a, T: Send + 'a>(
        &'a self,
        _what: impl FnOnce() -> String,
        read: BoxFuture<'a, Read<T>>,
    ) -> BoxFuture<'a, Read<T>> {
        read
    }

    /// Lends a connection that cannot write.
    fn reader<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Reader>>> {
        self.read(|| "lends a reader".to_owned(), of.reader())
    }

    /// Reads the owner of a session.
    fn owner<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<UserId>>> {
        self.read(|| format!("tells the owner of {session}"), of.owner(session))
    }

    /// Reads a session with its transcript.
    fn session<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        self.read(|| format!("reads {session}"), of.session(session))
    }

    /// Reads a page of a transcript.
    fn transcript<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Read<TranscriptPart>> {
        let read = of.transcript(session, from, size);
        self.read(|| format!("reads {session} from {from}"), read)
    }

    /// Reads the summary of a chat.
    fn summary<'a>(
        &'a self,
        of: &'a dyn Store,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<SessionSummary>>> {
        self.read(|| format!("sums up {session}"), of.summary(user, session))
    }

    /// Searches the texts of a user.
    fn search<'a>(
        &'a self,
        of: &'a dyn Store,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Read<SearchPage>> {
        self.read(|| format!("searches the texts of {user}"), of.search(user, query))
    }

    /// Returns the turn that was submitted with a key.
    fn submitted<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Read<Option<SubmittedTurn>>> {
        self.read(|| format!("looks for {key} of {session}"), of.submitted(session, key))
    }

    /// Reads a turn.
    fn turn<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Read<Option<StoredTurn>>> {
        self.read(|| format!("reads turn {turn} of {session}"), of.turn(session, turn))
    }

    /// Lists calls of the ledger.
    fn calls<'a>(
        &'a self,
        of: &'a dyn Store,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Read<Vec<LedgerRow>>> {
        self.read(|| "reads calls".to_owned(), of.calls(filter))
    }

    /// Reads the chain of a session.
    fn links<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<(Vec<Link>, ChainEnd)>> {
        self.read(|| format!("reads the chain of {session}"), of.links(session))
    }

    /// Erases a user.
    fn forget<'a>(
        &'a self,
        of: &'a dyn Store,
        order: &'a Forget,
    ) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        of.forget(order)
    }

    /// Returns what is kept of the chains of forgotten users.
    fn erased<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Vec<ErasedChain>>> {
        self.read(|| "reads erased chains".to_owned(), of.erased())
    }

    /// Closes the store.
    fn close<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, ()> {
        of.close()
    }

    /// Begins a part of a transaction, which may name the call that it is about.
    fn savepoint<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, StepResult> {
        of.savepoint(call)
    }

    /// Keeps the innermost part.
    fn keep<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        of.keep()
    }

    /// Undoes the innermost part.
    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        of.undo()
    }

    /// Writes facts.
    fn write<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        writes: &'a [Write],
    ) -> BoxFuture<'a, StepResult> {
        of.write(writes)
    }

    /// Commits the transaction.
    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        of.commit()
    }
}

/// The result of a step.
pub type StepResult = Result<(), StoreError>;

/// The result of a step that returns something.
pub type Read<T> = Result<T, StoreError>;

/// A store that takes its steps, and those of its transactions, as [`Steps`] says.
#[derive(Debug)]
pub struct SteppedStore<S, T> {
    store: S,
    steps: Arc<T>,
}

struct Stepped<T> {
    transaction: Box<dyn Transaction>,
    steps: Arc<T>,
}

impl<S, T> SteppedStore<S, T> {
    /// Wraps this store with these steps.
    #[must_use]
    pub fn new(store: S, steps: T) -> Self {
        Self { store, steps: Arc::new(steps) }
    }
}

impl<S: Store, T: Steps> Store for SteppedStore<S, T> {
    fn connection_type(&self) -> ConnectionType {
        self.steps.connection_type(&self.store)
    }

    fn occupancy(&self) -> Option<&Occupancy> {
        self.store.occupancy()
    }

    fn only_reads(&self) -> bool {
        self.steps.only_reads(&self.store)
    }

    fn keys(&self) -> &SealKeys {
        self.store.keys()
    }

    fn writers(&self) -> usize {
        self.store.writers()
    }

    fn lends_apart(&self) -> bool {
        self.store.lends_apart()
    }

    fn begin(&self) -> BoxFuture<'_, Read<Box<dyn Transaction>>> {
        Box::pin(async {
            let transaction = self.steps.begin(&self.store).await?;
            let steps = self.steps.clone();
            Ok(Box::new(Stepped { transaction, steps }) as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Read<Box<dyn Reader>>> {
        self.steps.reader(&self.store)
    }

    fn owner<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Read<Option<UserId>>> {
        self.steps.owner(&self.store, session)
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        self.steps.session(&self.store, session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Read<TranscriptPart>> {
        self.steps.transcript(&self.store, session, from, size)
    }

    fn interrupted(&self) -> BoxFuture<'_, Read<Vec<InterruptedSession>>> {
        self.store.interrupted()
    }

    fn temporary(&self, most: usize) -> BoxFuture<'_, Read<Vec<TemporaryChat>>> {
        self.store.temporary(most)
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Read<Vec<SessionSummary>>> {
        self.store.sessions(user, page)
    }

    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<SessionSummary>>> {
        self.steps.summary(&self.store, user, session)
    }

    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Read<SearchPage>> {
        self.steps.search(&self.store, user, query)
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Read<Option<SubmittedTurn>>> {
        self.steps.submitted(&self.store, session, key)
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Read<Option<StoredTurn>>> {
        self.steps.turn(&self.store, session, turn)
    }

    fn calls<'a>(&'a self, filter: &'a LedgerFilter) -> BoxFuture<'a, Read<Vec<LedgerRow>>> {
        self.steps.calls(&self.store, filter)
    }

    fn links<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Read<(Vec<Link>, ChainEnd)>> {
        self.steps.links(&self.store, session)
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        self.steps.forget(&self.store, order)
    }

    fn erased(&self) -> BoxFuture<'_, Read<Vec<ErasedChain>>> {
        self.steps.erased(&self.store)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.steps.close(&self.store)
    }
}

impl<T: Steps> Transaction for Stepped<T> {
    fn savepoint<'a>(
        &'a mut self,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, StepResult> {
        self.steps.savepoint(&mut *self.transaction, call)
    }

    fn keep(&mut self) -> BoxFuture<'_, StepResult> {
        self.steps.keep(&mut *self.transaction)
    }

    fn undo(&mut self) -> BoxFuture<'_, StepResult> {
        self.steps.undo(&mut *self.transaction)
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, StepResult> {
        self.steps.write(&mut *self.transaction, writes)
    }

    fn lend_for(&mut self, deadline: Duration) {
        self.transaction.lend_for(deadline);
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.transaction.connection()
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, StepResult> {
        self.steps.commit(self.transaction)
    }
}
