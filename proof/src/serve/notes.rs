//! What one reader of a stream has heard, and what no stream may tell it. Pure.
//!
//! The audit compares the stored events with the store. The notes have what the store cannot know.
//! An event that no store keeps came once while its feed lived. Pieces of text follow one another,
//! and a stream ended with a reason.

use std::{
    collections::{HashMap, HashSet},
    mem::{Discriminant, discriminant},
};

use madang::{
    TurnId,
    event::{EventCursor, EventKind, FeedCursor, FeedEpoch, SessionEvent},
};
use serde_json::Value;

use super::frames::EventFrame;
use crate::audit::{Counter, is_kept};

/// A broken promise, in a sentence.
pub(super) type Fault = (Counter, String);

/// The notes of one reader, over all of its connections.
#[derive(Debug, Default)]
pub(super) struct ReaderNotes {
    /// The cursor of the last event, as it was given.
    cursor: Option<String>,
    at: EventCursor,
    /// The number of the last event of each feed.
    told: HashMap<FeedEpoch, u64>,
    /// The feed whose next event must come without a gap.
    follows: Option<FeedEpoch>,
    stored: HashSet<(EventCursor, Discriminant<EventKind>)>,
    /// Whether the stream may end: a turn's own stream behind the turn, any behind a goodbye.
    may_end: bool,
    /// The turn that the stream follows; `None` for a session's stream.
    turn: Option<TurnId>,
    /// The completion that is spoken, and the bytes of it that this connection has told.
    text: Option<(Value, u64)>,
}

impl ReaderNotes {
    /// Follows one turn.
    pub(super) fn of_turn(turn: TurnId) -> Self {
        Self { turn: Some(turn), ..Self::default() }
    }

    /// Returns the cursor behind which the reader goes on.
    pub(super) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Returns the position in the stored events.
    pub(super) const fn at(&self) -> EventCursor {
        self.at
    }

    /// Begins another connection.
    pub(super) fn connects(&mut self) {
        (self.may_end, self.text) = (false, None);
    }

    /// Takes a frame, and returns the event in it and the promises that it breaks.
    pub(super) fn hears(&mut self, frame: &EventFrame) -> (Option<SessionEvent>, Vec<Fault>) {
        let mut faults = Vec::new();
        match frame.event.as_str() {
            "text" => faults.extend(self.hears_text(&frame.data)),
            "bye" => self.may_end = true,
            // Behind a gap the store tells, without numbers.
            "lagged" | "replay_failed" => self.follows = None,
            "thinking" => {}
            _ => match self.event(frame) {
                Ok((event, cursor)) => {
                    self.compare(&event, cursor, &mut faults);
                    return (Some(event), faults);
                }
                Err(what) => faults.push((Counter::Misreported, what)),
            },
        }
        (None, faults)
    }

    /// Takes the end of a whole body, and returns the promise that it breaks.
    pub(super) fn ends_in_order(&self) -> Option<Fault> {
        let what = || format!("a stream ended in order behind {:?}, without a reason", self.cursor);
        (!self.may_end).then(|| (Counter::Misreported, what()))
    }

    fn event(&self, frame: &EventFrame) -> Result<(SessionEvent, FeedCursor), String> {
        let unread = |cause: &dyn std::fmt::Display| format!("unreadable, {cause}: {frame:?}");
        let event: SessionEvent =
            serde_json::from_str(&frame.data).map_err(|error| unread(&error))?;
        let id = frame.id.as_deref().ok_or_else(|| unread(&"no cursor"))?;
        let cursor: FeedCursor = id.parse().map_err(|error| unread(&error))?;
        let seq = cursor.published.map_or(0, |(_, seq)| seq);
        if (cursor.stored, seq) != (event.cursor, event.seq) {
            return Err(unread(&"another cursor"));
        }
        Ok((event, cursor))
    }

    fn compare(&mut self, event: &SessionEvent, cursor: FeedCursor, faults: &mut Vec<Fault>) {
        let mut find = |counter, what: &str| {
            faults.push((counter, format!("{what} behind {:?}: {event:?}", self.cursor)));
        };
        match cursor.published {
            None => self.follows = None,
            Some((epoch, seq)) => {
                let last = self.told.insert(epoch, seq).unwrap_or(0);
                if seq <= last {
                    find(Counter::Doubled, "told again by the same feed");
                } else if self.turn.is_none() && self.follows == Some(epoch) && seq > last + 1 {
                    find(Counter::Lost, "told behind a gap of the same feed");
                }
                self.follows = Some(epoch);
            }
        }
        if event.cursor < self.at {
            find(Counter::Misreported, "told out of order");
        }
        let stored = (event.cursor, discriminant(&event.kind));
        if is_kept(&event.kind) && !self.stored.insert(stored) {
            find(Counter::Doubled, "told twice");
        }
        if self.turn.is_some_and(|turn| turn != event.turn) {
            find(Counter::Misreported, "told by the stream of another turn");
        }
        self.at = self.at.max(event.cursor);
        self.cursor = Some(cursor.to_string());
        self.may_end |= self.turn.is_some() && matches!(event.kind, EventKind::TurnEnded { .. });
    }

    fn hears_text(&mut self, data: &str) -> Option<Fault> {
        let data: Value = serde_json::from_str(data).unwrap_or_default();
        let piece = (data["at"].as_u64(), data["text"].as_str());
        let (Some(at), Some(text)) = piece else {
            return Some((Counter::Misreported, format!("a piece of text is unreadable: {data}")));
        };
        let follows =
            |(completion, end): &(Value, u64)| (completion, *end) == (&data["completion"], at);
        let is_so = at == 0 || self.text.as_ref().is_some_and(follows);
        self.text = Some((data["completion"].clone(), at + text.len() as u64));
        (!is_so).then(|| (Counter::Misreported, format!("a piece of text follows none: {data}")))
    }
}
