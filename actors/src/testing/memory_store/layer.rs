//! The tables of the memory store, and changes to them that are not committed yet: the same type for both.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::{
    ledger::{ChainEnd, Link},
    port::{LedgerFilter, LedgerRow, SessionRow, StoredSession},
    protocol::{
        CallId, ChatMessage, SessionId, Timestamp, TurnEnding, TurnError, TurnId, Usage, UserId,
    },
};

/// What is committed, or what one savepoint changes.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub(super) sessions: HashMap<SessionId, SessionTable>,
    pub(super) calls: HashMap<CallId, LedgerRow>,
    /// Calls in the order in which they were proposed.
    pub(super) proposed: Vec<CallId>,
    /// Values of fake tools; `None` where one was removed.
    pub(super) values: BTreeMap<String, Option<Value>>,
}

/// What belongs to one session.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    pub(super) opened: Option<(UserId, Timestamp)>,
    pub(super) turns: BTreeMap<TurnId, Turn>,
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) links: Vec<Link>,
}

/// A turn.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) began: Timestamp,
    pub(super) end: Option<TurnEnd>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnEnd {
    pub(super) at: Timestamp,
    pub(super) ending: TurnEnding,
    pub(super) error: Option<TurnError>,
    pub(super) usage: Usage,
}

/// A place in the transcript.
#[derive(Debug)]
pub(super) enum Entry {
    Message(Box<ChatMessage>),
    /// Kept for a call, which is an entry once it has ended.
    Call(CallId),
}

impl Layer {
    /// Takes over what changed.
    pub(super) fn absorb(&mut self, newer: Self) {
        for (session, changes) in newer.sessions {
            self.sessions.entry(session).or_default().absorb(changes);
        }
        self.calls.extend(newer.calls);
        self.proposed.extend(newer.proposed);
        self.values.extend(newer.values);
    }

    /// Whose session it is.
    pub(super) fn owner(&self, session: &SessionId) -> Option<UserId> {
        Some(self.sessions.get(session)?.opened.as_ref()?.0.clone())
    }

    /// A session with its transcript.
    pub(super) fn stored_session(&self, session: &SessionId) -> Option<StoredSession> {
        let table = self.sessions.get(session)?;
        let (user, opened_at) = table.opened.clone()?;
        let last_seq = table.entries.last_key_value().map_or(0, |(seq, _)| *seq);
        let messages = table.entries.values().filter_map(|entry| match entry {
            Entry::Message(message) => Some((**message).clone()),
            Entry::Call(call) => self.calls.get(call)?.entry(),
        });
        let open = table.turns.iter().filter(|(_, turn)| turn.end.is_none());
        Some(StoredSession {
            row: SessionRow { session: session.clone(), user, opened_at, last_seq },
            messages: messages.collect(),
            open_turn: open.max_by_key(|(_, turn)| turn.began).map(|(id, _)| *id),
        })
    }

    /// The calls of a filter, in the order in which they were proposed.
    pub(super) fn matching_calls(&self, filter: &LedgerFilter) -> Vec<LedgerRow> {
        let matches = |row: &&LedgerRow| {
            filter.session.as_ref().is_none_or(|session| *session == row.session)
                && !(filter.only_open && row.ended_at.is_some())
                && !(filter.only_grants && row.grant().is_none())
        };
        let row = |call| self.calls.get(call);
        match &filter.call {
            Some(call) => row(call).filter(matches).cloned().into_iter().collect(),
            None => self.proposed.iter().filter_map(row).filter(matches).cloned().collect(),
        }
    }

    /// A session's chain.
    pub(super) fn links(&self, session: &SessionId) -> (Vec<Link>, ChainEnd) {
        let links = self.sessions.get(session).map(|table| table.links.clone()).unwrap_or_default();
        let end = links.last().map_or(ChainEnd::EMPTY, |last| ChainEnd {
            length: links.len() as u64,
            head: last.hash,
        });
        (links, end)
    }
}

impl SessionTable {
    fn absorb(&mut self, newer: Self) {
        self.opened = newer.opened.or_else(|| self.opened.take());
        self.turns.extend(newer.turns);
        self.entries.extend(newer.entries);
        self.links.extend(newer.links);
    }
}
