//! Implements the memory store's transaction: layers of changes, absorbed at the commit.

use std::{any::Any, sync::Arc};

use tokio::sync::OwnedMutexGuard;

use super::{
    connection::MemoryConnection,
    layer::{Entry, Layer, SessionTable, Turn},
    shared::{Committed, Shared},
};
use madang_actors::{
    ledger::{ChainEnd, Link, Salt, Transition, next_hash, step_hash},
    port::{
        BoxFuture, LedgerRow, OpenTurn, StoreError, StoredEnd, Transaction, Write, stored_bytes,
        stored_turn_bytes,
    },
    protocol::{
        Approval, CallId, ChatMessage, Content, SessionId, Timestamp, TurnId, Usage, UserId,
    },
};

pub(super) struct MemoryTransaction {
    connection: MemoryConnection,
    shared: Arc<Shared>,
    _turn: OwnedMutexGuard<()>,
}

impl Transaction for MemoryTransaction {
    fn savepoint<'a>(
        &'a mut self,
        _: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.connection.layers().push(Layer::default());
        Box::pin(async { Ok(()) })
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        let kept = self.end_savepoint().map(|layer| {
            self.connection.top().expect("the first layer is no savepoint and stays").absorb(layer);
        });
        Box::pin(async { kept })
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        let undone = self.end_savepoint().map(drop);
        Box::pin(async { undone })
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        let written = writes.iter().try_for_each(|write| self.apply(write));
        Box::pin(async { written })
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        &mut self.connection
    }

    fn commit(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            let _passed = self.shared.gate.clone().read_owned().await;
            let fault = self.shared.faults().commits.pop_front();
            if fault.as_ref().is_none_or(|(_, committed)| *committed == Committed::Yes) {
                let changes = std::mem::take(self.connection.layers()).into_iter();
                let changes = changes.reduce(|mut older, newer| {
                    older.absorb(newer);
                    older
                });
                self.shared.commit(changes.unwrap_or_default());
            }
            fault.map_or(Ok(()), |(error, _)| Err(error))
        })
    }
}

/// The savepoint has already ended.
#[derive(Debug, thiserror::Error)]
#[error("there is no savepoint")]
struct NoSavepoint;

impl MemoryTransaction {
    pub(super) fn new(shared: Arc<Shared>, turn: OwnedMutexGuard<()>) -> Self {
        Self { connection: MemoryConnection::writing(shared.clone()), shared, _turn: turn }
    }

    fn end_savepoint(&mut self) -> Result<Layer, StoreError> {
        let layers = self.connection.layers();
        if layers.len() < 2 {
            return Err(StoreError::unavailable(NoSavepoint));
        }
        Ok(layers.pop().expect("there are two"))
    }

    fn apply(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Session { session, user, at } => self.open_session(session, user, *at),
            Write::Titled { session, user, title } => {
                let owner = self.find(session, |table| table.opened.clone());
                if owner.is_none_or(|(owner, _)| owner != *user) {
                    return Err(StoreError::refused(format!("session {session} is not {user}'s")));
                }
                self.table(session).title = Some(title.clone());
                Ok(())
            }
            Write::Temporary { session } => {
                self.must_be_open(session)?;
                self.table(session).is_temporary = true;
                Ok(())
            }
            Write::Erased { session } => self.erase(session),
            Write::Deleted { session, user, at } => self.delete(session, user, *at),
            Write::TurnStarted { session, turn, at, options, text, max_stored_bytes } => {
                self.must_have_room(session, *max_stored_bytes)?;
                let open = OpenTurn {
                    turn: *turn,
                    options: options.clone(),
                    text: *text,
                    round: 0,
                    from: 0,
                    usage: Usage::default(),
                    is_dismissed: false,
                    resumes: 0,
                };
                self.start_turn(session, Turn { began: *at, open, end: None, ended: None })?;
                self.count(session, stored_turn_bytes(options));
                Ok(())
            }
            Write::Turn { session, turn, step, .. } => self.turn_step(session, *turn, step),
            Write::TurnEnded { session, turn, at, behind, ending, error, usage } => {
                let end = StoredEnd { ending: *ending, error: error.clone(), usage: *usage };
                self.end_turn(session, *turn, (*at, *behind), end)
            }
            Write::Message { session, message } => self.append(session, message),
            Write::Call { session, call, at, transition } => {
                self.step(session, *call, *at, transition)
            }
            Write::Revoke { session, tool, by, at } => {
                let revoked = Transition::Revoked { by: by.clone() };
                self.with_standing_approvals(session, tool.as_deref())
                    .into_iter()
                    .try_for_each(|call| self.step(session, call, *at, &revoked))
            }
        }
    }

    /// Lists the calls whose standing approvals are in force.
    fn with_standing_approvals(&self, session: &SessionId, tool: Option<&str>) -> Vec<CallId> {
        let is_in_force = |row: &Arc<LedgerRow>| {
            row.standing_approval().is_some_and(|standing| {
                standing.session == *session && tool.is_none_or(|tool| *standing.tool == *tool)
            })
        };
        self.rows().filter(is_in_force).map(|row| row.call).collect()
    }

    /// Returns the calls in the order of their proposals.
    pub(super) fn rows(&self) -> impl Iterator<Item = Arc<LedgerRow>> {
        let proposed = self.connection.of_all_layers(|layer| layer.proposed.clone());
        proposed.into_iter().filter_map(|call| self.row(call))
    }

    fn row(&self, call: CallId) -> Option<Arc<LedgerRow>> {
        let found = self.connection.find(|layer| match layer.calls.get(&call) {
            Some(row) => Some(Some(row.clone())),
            None => layer.deleted_calls.contains(&call).then_some(None),
        });
        found.flatten()
    }

    fn open_session(
        &mut self,
        session: &SessionId,
        user: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        match self.find(session, |table| table.opened.clone()) {
            None => self.table(session).opened = Some((user.clone(), at)),
            Some((owner, _)) if owner == *user => {}
            Some(_) => {
                return Err(StoreError::refused(format!(
                    "session {session} belongs to another user"
                )));
            }
        }
        Ok(())
    }

    fn append(&mut self, session: &SessionId, message: &ChatMessage) -> Result<(), StoreError> {
        if matches!(message.content, Content::ToolCall(_)) {
            return Err(StoreError::refused(
                "a tool call enters the transcript through its ledger",
            ));
        }
        self.insert_entry(
            session,
            message.turn,
            message.seq,
            Entry::Message(message.clone().into()),
        )?;
        if matches!(message.content, Content::User { .. }) {
            self.put_on_the_list(session, message.at);
        }
        self.count(session, stored_bytes(&message.content));
        Ok(())
    }

    fn step(
        &mut self,
        session: &SessionId,
        call: CallId,
        at: Timestamp,
        step: &Transition,
    ) -> Result<(), StoreError> {
        self.must_be_open(session)?;
        let before = self.row(call);
        if before.as_ref().is_some_and(|row| row.session != *session) {
            return Err(StoreError::refused(format!("call {call} belongs to another session")));
        }
        let is_repeated = before.as_ref().is_some_and(|row| row.may_repeat(step))
            && self.last_step(session, call).is_some_and(|last| last == *step);
        if is_repeated {
            return Ok(());
        }
        let standing = step.rests_on().and_then(|by_call| self.row(by_call));
        let before = before.as_deref();
        let standing = standing.as_deref();
        let row =
            LedgerRow::after(before, standing, Some(&self.shared.keys), session, call, at, step)?;
        if let Some(use_of) = row.approval.filter(|_| step.rests_on().is_some()) {
            self.must_be_unused(session, &use_of)?;
        }
        if before.is_none() {
            self.insert_entry(session, row.turn, row.seq, Entry::Call(call, row.turn))?;
            self.top().proposed.push(call);
        }
        let head = self.find(session, |table| table.links.last().map(|link| link.hash));
        let head = head.unwrap_or(ChainEnd::EMPTY.head);
        let salt = Salt::random().map_err(StoreError::unavailable)?;
        let hash = next_hash(&head, &step_hash(&salt, session, call, at, step));
        self.table(session).links.push(Link { call, at, transition: step.clone(), salt, hash });
        self.top().calls.insert(call, row.into());
        self.count(session, stored_bytes(step));
        Ok(())
    }

    fn stored_of(&self, session: &SessionId) -> Option<(UserId, u64)> {
        let (user, _) = self.find(session, |table| table.opened.clone())?;
        let stored = self.connection.find(|layer| layer.stored.get(&user).copied());
        Some((user, stored.unwrap_or_default()))
    }

    fn must_have_room(&self, session: &SessionId, max: u64) -> Result<(), StoreError> {
        match self.stored_of(session) {
            Some((_, stored)) if stored > max => Err(StoreError::TooMuchStored),
            Some(_) | None => Ok(()),
        }
    }

    /// Uncounts the bytes of erased texts.
    pub(super) fn uncount(&mut self, session: &SessionId, bytes: u64) {
        if let Some((user, stored)) = self.stored_of(session) {
            self.top().stored.insert(user, stored - bytes);
        }
    }

    pub(super) fn count(&mut self, session: &SessionId, bytes: u64) {
        if let Some((user, stored)) = self.stored_of(session) {
            self.top().stored.insert(user, stored + bytes);
        }
    }

    /// Refuses a second use of a standing approval with the same number.
    fn must_be_unused(&self, session: &SessionId, use_of: &Approval) -> Result<(), StoreError> {
        let Approval::Standing { by_call: its, number: nth, .. } = use_of else { return Ok(()) };
        let is_same = |row: Arc<LedgerRow>| {
            row.session == *session
                && matches!(row.approval, Some(Approval::Standing { by_call, number, .. })
                    if by_call == *its && number == *nth)
        };
        if self.rows().any(is_same) {
            return Err(StoreError::refused(format!(
                "use {nth} of standing approval {its} was made"
            )));
        }
        Ok(())
    }

    fn insert_entry(
        &mut self,
        session: &SessionId,
        turn: TurnId,
        seq: u64,
        entry: Entry,
    ) -> Result<(), StoreError> {
        self.must_be_open(session)?;
        if !self.has_turn(session, turn) {
            return Err(StoreError::refused(format!("session {session} has no turn {turn}")));
        }
        let erased_to = self.find(session, |table| table.erased_to).unwrap_or_default();
        if seq <= erased_to
            || self.find(session, |table| table.entries.contains_key(&seq).then_some(())).is_some()
        {
            return Err(StoreError::refused(format!("session {session} has no free number {seq}")));
        }
        self.table(session).entries.insert(seq, entry);
        Ok(())
    }

    pub(super) fn must_be_open(&self, session: &SessionId) -> Result<(), StoreError> {
        let opened = self.find(session, |table| table.opened.is_some().then_some(()));
        opened.ok_or_else(|| StoreError::refused(format!("there is no session {session}")))
    }

    fn last_step(&self, session: &SessionId, call: CallId) -> Option<Transition> {
        let last =
            |table: &SessionTable| table.links.iter().rev().find(|link| link.call == call).cloned();
        self.find(session, last).map(|link| link.transition)
    }

    pub(super) fn find<T>(
        &self,
        session: &SessionId,
        look: impl Fn(&SessionTable) -> Option<T>,
    ) -> Option<T> {
        let found = self.connection.find(|layer| {
            let table = layer.sessions.get(session)?;
            match look(table) {
                None if table.is_deleted => Some(None),
                None => None,
                found => Some(found),
            }
        });
        found.flatten()
    }

    /// Collects from the committed table of a session and from each later change of it, in order.
    /// What is deleted is left out.
    pub(super) fn of_all_layers<T>(
        &self,
        session: &SessionId,
        look: impl Fn(&SessionTable) -> Vec<T>,
    ) -> Vec<T> {
        let of_table = |layer: &Layer| {
            let table = layer.sessions.get(session);
            table.map(|table| (table.is_deleted, look(table))).into_iter().collect()
        };
        let tables: Vec<(bool, Vec<T>)> = self.connection.of_all_layers(of_table);
        let first = tables.iter().rposition(|(is_deleted, _)| *is_deleted).unwrap_or_default();
        tables.into_iter().skip(first).flat_map(|(_, found)| found).collect()
    }

    pub(super) fn table(&mut self, session: &SessionId) -> &mut SessionTable {
        self.top().sessions.entry(session.clone()).or_default()
    }

    pub(super) fn top(&mut self) -> &mut Layer {
        self.connection.top().expect("a transaction has a layer")
    }
}
