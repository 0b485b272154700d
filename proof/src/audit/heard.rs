//! Compares the events of a session with its store: each entry and each end comes once, in order,
//! and unchanged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use madang::{
    Timestamp, TurnId,
    event::{ChatMessage, Content, EventCursor, EventKind, SessionEvent},
    ledger::{CallRecord, Effect},
};

use super::{
    facts::Session,
    findings::{Counter, Findings},
    moment::Moment,
};

/// All events that a reader of one session received, with their moments.
pub(super) type Heard = [(Timestamp, Arc<SessionEvent>)];

/// Requires that no event tells of the future, and none of a turn comes before its request.
pub(super) fn compare_times(
    heard: &Heard,
    began: &BTreeMap<TurnId, Timestamp>,
    findings: &mut Findings,
) {
    for (at, event) in heard {
        let is_early = began.get(&event.turn).is_some_and(|asked| event.at < *asked);
        if event.at > *at || is_early {
            let what = format!("heard at {at:?} that it happened at {:?}", event.at);
            findings.find(Counter::Misreported, what);
        }
    }
}

impl Session {
    /// Requires that the events equal the store: each entry and each end once, in order, and
    /// unchanged.
    pub(super) fn compare_heard(&self, heard: &Heard, moment: Moment, findings: &mut Findings) {
        let name = &self.stored.row.session;
        if !heard.is_sorted_by_key(|(_, event)| event.cursor) {
            findings.find(Counter::Misreported, format!("{name} was not told in order"));
        }
        let mut received = BTreeMap::<EventCursor, Vec<&SessionEvent>>::new();
        for (_, event) in heard {
            received.entry(event.cursor).or_default().push(event);
        }
        let mut cursors = BTreeSet::new();
        for message in &self.stored.messages {
            let cursor = EventCursor::of_entry(message.seq);
            cursors.insert(cursor);
            let events = received.get(&cursor).into_iter().flatten();
            let telling = events.filter_map(|event| Some((event, tells(event, message)?)));
            let events: Vec<_> = telling.collect();
            let what = || format!("{name} {cursor}: stored {message:?}, told {events:?}");
            match events.as_slice() {
                [] if moment == Moment::AfterDeath => {}
                [] => findings.find(Counter::Lost, what()),
                [(_, true)] => {}
                [_] => findings.find(Counter::Misreported, what()),
                _ => findings.find(Counter::Doubled, what()),
            }
        }
        for entry in &self.story.entries {
            let Some((at, end)) = &entry.end else { continue };
            let cursor = EventCursor::of_entry(entry.message.seq);
            let turn = entry.message.turn;
            cursors.extend([cursor.error(), cursor.end()]);
            let ends = received.get(&cursor.end()).into_iter().flatten().filter(|event| {
                (event.turn, event.at) == (turn, *at)
                    && event.kind == EventKind::TurnEnded { ending: end.ending, usage: end.usage }
            });
            let errors = received.get(&cursor.error()).into_iter().flatten().filter(|event| {
                (event.turn, event.at) == (turn, *at)
                    && matches!(&event.kind, EventKind::Error { error, .. } if Some(error) == end.error.as_ref())
            });
            let ends = ends.count();
            let errors = errors.count();
            let (most, is_dead) =
                ((1, usize::from(end.error.is_some())), moment == Moment::AfterDeath);
            let is_part = ends <= most.0 && errors <= most.1;
            if (ends, errors) != most && !(is_dead && is_part) {
                let what = format!("{name} {cursor}: {end:?} was told {ends} and {errors} times");
                findings.find(Counter::Misreported, what);
            }
        }
        for (_, event) in heard {
            if is_kept(&event.kind) && !cursors.contains(&event.cursor) {
                findings.find(Counter::Lost, format!("{name} {}: told {event:?}", event.cursor));
            }
        }
    }
}

/// Tells whether the store keeps such events: each of them has a cursor of its own.
pub(crate) const fn is_kept(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::UserMessage { .. }
            | EventKind::ModelMessage { .. }
            | EventKind::ToolCallEnded { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Cleared
            | EventKind::TurnEnded { .. }
    )
}

/// Tells whether an event equals the stored entry; `None` if it tells of none of this kind.
fn tells(event: &SessionEvent, message: &ChatMessage) -> Option<bool> {
    let is_same = match (&event.kind, &message.content) {
        (
            EventKind::UserMessage { text: reported, key: reported_key, origin: from },
            Content::User { text, key, origin },
        ) => (reported, reported_key, from) == (text, key, origin),
        (
            EventKind::ModelMessage { text: reported, ending: how, model: by, origin: from },
            Content::Model { text, ending, model, origin },
        ) => (reported, how, by, from) == (text, ending, model, origin),
        (EventKind::ToolCallEnded { record: reported }, Content::ToolCall(record)) => {
            is_same_call(reported, record)
        }
        (EventKind::SystemNotice { .. }, Content::Notice { .. })
        | (EventKind::Cleared, Content::Cleared) => true,
        _ => return None,
    };
    Some(is_same && (event.turn, event.at) == (message.turn, message.at))
}

/// Compares two records of a call, of which one may have been resolved since.
fn is_same_call(reported: &CallRecord, stored: &CallRecord) -> bool {
    if reported.resolved_by.is_some() || stored.resolved_by.is_none() {
        return reported == stored;
    }
    let effect = reported.effect;
    let resolved_by = None;
    effect == Effect::Unknown && *reported == CallRecord { effect, resolved_by, ..stored.clone() }
}
