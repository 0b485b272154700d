//! The list of a user's chats, and the moments by which it is ordered.

use super::layer::{Entry, Layer, SessionTable};
use madang_actors::{
    ledger::CallState,
    port::{SessionPage, SessionSummary, session_title},
    protocol::{Content, EventCursor, SessionId, UserId},
};

impl Layer {
    /// Lists the sessions of a user that have a message of the user, the newest first.
    pub(super) fn session_list(&self, user: &UserId, page: &SessionPage) -> Vec<SessionSummary> {
        let mut summaries = self.all_listed(user);
        summaries.retain(|it| page.position().is_none_or(|last| it.position() < *last));
        summaries.truncate(page.limit());
        summaries
    }

    /// Lists all of these sessions.
    pub(super) fn all_listed(&self, user: &UserId) -> Vec<SessionSummary> {
        let mut summaries: Vec<_> = self
            .sessions
            .iter()
            .filter(|(_, table)| table.opened.as_ref().is_some_and(|(owner, _)| owner == user))
            .filter_map(|(session, table)| self.summary(session, table))
            .collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.position()));
        summaries
    }

    /// Sums up one session of a user. Returns `None` if it is not listed.
    pub(super) fn listed(&self, user: &UserId, session: &SessionId) -> Option<SessionSummary> {
        let table = self.sessions.get(session)?;
        self.summary(session, table)
            .filter(|_| table.opened.as_ref().is_some_and(|(owner, _)| owner == user))
    }

    /// Sums up a session. Returns `None` if it is not listed.
    fn summary(&self, session: &SessionId, table: &SessionTable) -> Option<SessionSummary> {
        let ((_, opened_at), last_at) = (table.opened.as_ref()?, table.last_at.flatten()?);
        let open_turn = table.open_turn().map(|turn| turn.open.turn);
        let waits = table.entries.values().any(|entry| match entry {
            Entry::Call(call, turn) => {
                let is_asked =
                    self.calls.get(call).is_some_and(|row| row.state == CallState::Awaiting);
                is_asked && Some(*turn) == open_turn
            }
            Entry::Message(_) => false,
        });
        Some(SessionSummary {
            session: session.clone(),
            opened_at: *opened_at,
            last_at,
            last: self.last_cursor(table),
            title: match &table.title {
                Some(Some(given)) => given.to_string(),
                Some(None) | None => table.first_text().map_or_else(String::new, session_title),
            },
            open_turn,
            waits,
        })
    }

    /// Returns the position after the last entry before any call that has not ended, or after the
    /// end of that entry's turn.
    fn last_cursor(&self, table: &SessionTable) -> EventCursor {
        let is_open = |entry: &Entry| match entry {
            Entry::Call(call, _) => self.calls.get(call).is_none_or(|row| row.ended_at.is_none()),
            Entry::Message(_) => false,
        };
        let before_open = table.entries.iter().take_while(|(_, entry)| !is_open(entry));
        let Some((seq, entry)) = before_open.last() else { return EventCursor::START };
        let turn = entry.turn();
        let cursor = EventCursor::of_entry(*seq);
        let ended = table.turns.get(&turn).and_then(|turn| turn.ended);
        if ended.is_some_and(|(_, behind)| behind == *seq) { cursor.end() } else { cursor }
    }
}

impl SessionTable {
    /// Returns the user's first text since the last clearing, or else the first of all.
    fn first_text(&self) -> Option<&str> {
        let texts = |from| {
            self.shown().filter(move |(seq, _)| **seq >= from).filter_map(
                |(_, entry)| match entry {
                    Entry::Message(message) => match &message.content {
                        Content::User { text, .. } => Some(&**text),
                        Content::Model { .. }
                        | Content::ToolCall(_)
                        | Content::Notice { .. }
                        | Content::Cleared => None,
                    },
                    Entry::Call(..) => None,
                },
            )
        };
        let is_clearing = |entry: &Entry| matches!(entry, Entry::Message(message) if message.content == Content::Cleared);
        let cleared = self.entries.iter().rev().find(|(_, entry)| is_clearing(entry));
        let since = cleared.map_or(0, |(seq, _)| *seq);
        texts(since).next().or_else(|| texts(0).next())
    }
}
