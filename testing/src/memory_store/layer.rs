//! The tables of the memory store, and uncommitted changes of them. One type is both.

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry as Slot},
    sync::Arc,
};

use foldhash::fast::RandomState;
use serde_json::Value;

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link},
    port::{
        InterruptedSession, LedgerFilter, LedgerRow, OpenTurn, PartSize, SelectedCalls, SessionRow,
        SessionTitle, StoreError, StoredEnd, StoredSession, StoredTurn, SubmittedTurn,
        TemporaryChat, TranscriptPart, TranscriptRow, UnfinishedPart,
    },
    protocol::{
        Approval, CallId, ChatMessage, Effect, IdempotencyKey, SessionId, Timestamp, TurnId, UserId,
    },
};

/// The committed state, or the changes of one savepoint.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub(super) sessions: HashMap<SessionId, SessionTable, RandomState>,
    pub(super) calls: HashMap<CallId, Arc<LedgerRow>, RandomState>,
    /// Calls in the order of their proposals.
    pub(super) proposed: Vec<CallId>,
    /// The bytes stored of each user.
    pub(super) stored: HashMap<UserId, u64, RandomState>,
    /// The calls of earlier layers that this one deletes.
    pub(super) deleted_calls: HashSet<CallId, RandomState>,
    /// What stays of the sessions that this layer deletes, not sealed yet.
    pub(super) erased: Vec<ErasedChain>,
    /// Values of fake tools. `None` if one was removed.
    pub(super) values: BTreeMap<String, Option<Value>>,
}

/// The rows of one session.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    pub(super) opened: Option<(UserId, Timestamp)>,
    /// The moment by which the session is listed, if it is. The outer `None` means that this layer
    /// does not change it.
    pub(super) last_at: Option<Option<Timestamp>>,
    /// Whether what earlier layers have of it is deleted. What this layer has came after that.
    pub(super) is_deleted: bool,
    /// The title that its user gave it. The outer `None` means that this layer does not change it.
    pub(super) title: Option<Option<SessionTitle>>,
    /// Whether its chat is temporary.
    pub(super) is_temporary: bool,
    /// The number up to which its entries are erased. `None` if this layer does not change it.
    pub(super) erased_to: Option<u64>,
    /// They are boxed, because a node of the tree has room for eleven and most layers have one.
    pub(super) turns: BTreeMap<TurnId, Box<Turn>>,
    /// The open turn. The outer `None` means that this layer does not change it.
    pub(super) open: Option<Option<TurnId>>,
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) links: Vec<Link>,
}

/// A turn and its end.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) began: Timestamp,
    pub(super) open: OpenTurn,
    pub(super) end: Option<StoredEnd>,
    /// The moment of its end, and the entry after which it ended.
    pub(super) ended: Option<(Timestamp, u64)>,
}

/// A position in the transcript.
#[derive(Debug)]
pub(super) enum Entry {
    Message(Box<ChatMessage>),
    /// A position that is kept for a call, which becomes an entry after it has ended.
    Call(CallId, TurnId),
}

impl Layer {
    /// Adds newer changes to this layer.
    pub(super) fn absorb(&mut self, newer: Self) {
        self.deleted_calls.extend(newer.deleted_calls);
        for (session, changes) in newer.sessions {
            if changes.is_deleted {
                self.remove(&session);
            }
            // It is still marked as deleted: earlier layers have the rows.
            match self.sessions.entry(session) {
                Slot::Vacant(slot) => drop(slot.insert(changes)),
                Slot::Occupied(mut table) => table.get_mut().absorb(changes),
            }
        }
        self.calls.extend(newer.calls);
        self.proposed.extend(newer.proposed);
        self.stored.extend(newer.stored);
        self.erased.extend(newer.erased);
        self.values.extend(newer.values);
    }

    /// Removes what this layer has of a session.
    pub(super) fn remove(&mut self, session: &SessionId) {
        self.sessions.remove(session);
        self.calls.retain(|_, row| row.session != *session);
        let Self { calls, proposed, .. } = self;
        proposed.retain(|call| calls.contains_key(call));
    }

    /// Returns the sessions that this layer deletes.
    pub(super) fn deleted(&self) -> Vec<SessionId> {
        let deleted = self.sessions.iter().filter(|(_, table)| table.is_deleted);
        deleted.map(|(session, _)| session.clone()).collect()
    }

    /// Removes the marks of these deletions from the committed state, which no layer is before.
    pub(super) fn settle(&mut self, deleted: &[SessionId]) {
        self.deleted_calls.clear();
        for session in deleted {
            let Some(table) = self.sessions.get_mut(session) else { continue };
            table.is_deleted = false;
            if table.opened.is_none() {
                self.sessions.remove(session);
            }
        }
    }

    /// Returns the owner of a session.
    pub(super) fn owner(&self, session: &SessionId) -> Option<UserId> {
        Some(self.sessions.get(session)?.opened.as_ref()?.0.clone())
    }

    /// Returns a session with its transcript.
    pub(super) fn stored_session(&self, session: &SessionId) -> Option<StoredSession> {
        let table = self.sessions.get(session)?;
        let (user, opened_at) = table.opened.clone()?;
        let last_seq = table.entries.last_key_value().map_or(0, |(seq, _)| *seq);
        let last_seq = last_seq.max(table.erased_to());
        let messages = table.shown().filter_map(|(_, entry)| self.message(entry));
        Some(StoredSession {
            row: SessionRow { session: session.clone(), user, opened_at, last_seq },
            messages: messages.collect(),
            open_turn: table.open_turn().map(|turn| turn.open.clone()),
        })
    }

    /// Returns a page of a transcript.
    pub(super) fn transcript(
        &self,
        session: &SessionId,
        from: u64,
        size: PartSize,
    ) -> TranscriptPart {
        let Some(table) = self.sessions.get(session) else { return TranscriptPart::default() };
        let row = |(seq, entry): (&u64, &Entry)| {
            let message = self.message(entry);
            let turn = table.turns.get(&entry.turn())?;
            let ended = turn.ended.filter(|(_, behind)| behind == seq).map(|(at, _)| at);
            let language = turn.open.options.language;
            let end = ended.zip(turn.end.clone());
            let bytes = serde_json::to_vec(&message).map_or(0, |json| json.len());
            Some(TranscriptRow { seq: *seq, bytes, message, language, end })
        };
        let mut part = UnfinishedPart::of(size);
        let from = from.max(table.erased_to() + 1);
        table.entries.range(from..).filter_map(row).all(|row| part.take(row)); // until it is full
        part.done()
    }

    /// Returns the message at a position. Returns `None` for a call that has not ended.
    fn message(&self, entry: &Entry) -> Option<ChatMessage> {
        match entry {
            Entry::Message(message) => Some((**message).clone()),
            Entry::Call(call, _) => self.calls.get(call)?.entry(),
        }
    }

    /// Lists the sessions that have an open turn, the oldest turn first.
    pub(super) fn interrupted(&self) -> Vec<InterruptedSession> {
        let mut open: Vec<_> = self
            .sessions
            .iter()
            .filter_map(|(session, table)| {
                let (turn, (user, _)) = (table.open_turn()?, table.opened.as_ref()?);
                let session = session.clone();
                let user = user.clone();
                Some((turn.began, InterruptedSession { session, user, turn: turn.open.turn }))
            })
            .collect();
        let order = |(began, open): &(Timestamp, InterruptedSession)| {
            (*began, open.session.as_str().to_owned())
        };
        open.sort_by_key(order);
        open.into_iter().map(|(_, interrupted)| interrupted).collect()
    }

    /// Lists at most `most` temporary chats that have a text or a title.
    pub(super) fn temporary(&self, most: usize) -> Vec<TemporaryChat> {
        let tables = self.sessions.iter().filter(|(_, table)| table.is_temporary);
        let with_text = tables.filter(|(_, table)| {
            let mut shown = table.shown();
            matches!(table.title, Some(Some(_)))
                || shown.any(|(_, entry)| matches!(entry, Entry::Message(_)))
        });
        let mut chats: Vec<_> = with_text
            .filter_map(|(session, table)| {
                let (user, _) = table.opened.clone()?;
                Some(TemporaryChat { session: session.clone(), user })
            })
            .collect();
        chats.sort_by(|one, other| one.session.cmp(&other.session));
        chats.truncate(most);
        chats
    }

    /// Returns the turn that was submitted with a key.
    pub(super) fn submitted(
        &self,
        session: &SessionId,
        key: &IdempotencyKey,
    ) -> Option<SubmittedTurn> {
        let turn = self.sessions.get(session)?.turn_of(key)?;
        Some(SubmittedTurn { turn: turn.open.turn, text: turn.open.text, end: turn.end.clone() })
    }

    /// Returns the turn with this id.
    pub(super) fn turn(&self, session: &SessionId, turn: TurnId) -> Option<StoredTurn> {
        let table = self.sessions.get(session)?;
        let found = table.turns.get(&turn)?;
        let first = table.shown().find(|(_, entry)| entry.turn() == turn);
        Some(StoredTurn {
            first: first.map_or(0, |(seq, _)| *seq),
            end: found.ended.map(|(_, behind)| behind).zip(found.end.clone()),
        })
    }

    /// Lists the calls that a filter selects, in the order of their proposals.
    pub(super) fn matching_calls(
        &self,
        filter: &LedgerFilter,
    ) -> Result<Vec<LedgerRow>, StoreError> {
        let is_of = |row: &LedgerRow| {
            filter.session.as_ref().is_none_or(|session| *session == row.session)
                && filter.user.as_ref().is_none_or(|user| *user == row.user)
        };
        let matches = |row: &&Arc<LedgerRow>| {
            is_of(row)
                && match filter.calls {
                    SelectedCalls::All => true,
                    SelectedCalls::One(call) => row.call == call,
                    SelectedCalls::Open => row.ended_at.is_none(),
                    SelectedCalls::StandingApprovals => row.standing_approval().is_some(),
                    SelectedCalls::RestOn(given_by) => {
                        matches!(row.approval, Some(Approval::Standing { by_call, .. }) if by_call == given_by)
                    }
                    SelectedCalls::Unresolved => row.effect == Some(Effect::Unknown),
                }
        };
        let from = match filter.after {
            None => 0,
            Some(after) => {
                let is_there = self.calls.get(&after).is_some_and(|row| is_of(row));
                let position = self.proposed.iter().position(|call| is_there && *call == after);
                position.ok_or_else(|| StoreError::refused(format!("there is no call {after}")))?
                    + 1
            }
        };
        // One call is found by its id, without going through all of them.
        let calls = if let (SelectedCalls::One(call), None) = (&filter.calls, &filter.after) {
            std::slice::from_ref(call)
        } else {
            &self.proposed[from..]
        };
        let rows = calls.iter().filter_map(|call| self.calls.get(call)).filter(matches);
        let rows = rows.take(filter.limit.unwrap_or(usize::MAX));
        let mut rows: Vec<_> = rows.map(|row| LedgerRow::clone(row)).collect();
        if filter.max_bytes.is_some() {
            let bytes = |row| serde_json::to_vec(row).map_or(0, |json| json.len());
            rows.truncate(filter.fitting(rows.iter().map(bytes)));
        }
        Ok(rows)
    }

    /// Returns a session's chain.
    pub(super) fn links(&self, session: &SessionId) -> (Vec<Link>, ChainEnd) {
        let links = self.sessions.get(session).map(|table| table.links.clone()).unwrap_or_default();
        let end = links.last().map_or(ChainEnd::EMPTY, |last| ChainEnd {
            length: links.len() as u64,
            head: last.hash,
        });
        (links, end)
    }
}

impl Entry {
    /// Returns the turn of the entry.
    pub(super) fn turn(&self) -> TurnId {
        match self {
            Self::Message(message) => message.turn,
            Self::Call(_, turn) => *turn,
        }
    }
}

impl SessionTable {
    /// Returns the entries that are not erased.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&u64, &Entry)> {
        self.entries.range(self.erased_to() + 1..)
    }

    fn erased_to(&self) -> u64 {
        self.erased_to.unwrap_or_default()
    }

    /// Returns the open turn.
    pub(super) fn open_turn(&self) -> Option<&Turn> {
        self.turns.get(&self.open.flatten()?).map(Box::as_ref)
    }

    /// Returns the turn that was submitted with this key.
    pub(super) fn turn_of(&self, key: &IdempotencyKey) -> Option<&Turn> {
        self.turns
            .values()
            .map(Box::as_ref)
            .find(|turn| turn.open.options.key.as_ref() == Some(key))
    }

    fn absorb(&mut self, newer: Self) {
        self.is_deleted |= newer.is_deleted;
        self.opened = newer.opened.or_else(|| self.opened.take());
        self.last_at = newer.last_at.or(self.last_at);
        self.title = newer.title.or_else(|| self.title.take());
        self.is_temporary |= newer.is_temporary;
        self.erased_to = newer.erased_to.or(self.erased_to);
        self.turns.extend(newer.turns);
        self.open = newer.open.or(self.open);
        self.entries.extend(newer.entries);
        if let Some(erased_to) = newer.erased_to {
            self.entries.retain(|seq, entry| *seq > erased_to || matches!(entry, Entry::Call(..)));
        }
        self.links.extend(newer.links);
    }
}
