//! Compares what the reader of a session heard with what is stored: each entry and each end once, in order, as it stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use madang::{
    Timestamp, TurnId,
    event::{ChatMessage, Content, EventCursor, EventKind, SessionEvent},
    ledger::{CallRecord, Effect},
};

use super::{audit::Session, clock::MORNING};
use crate::audit::Findings;

/// Everything that a reader of one session heard, and when.
pub(super) type Heard = [(Duration, Arc<SessionEvent>)];

/// No event tells of a moment that has not come, and none of a turn tells of one before it was asked for.
pub(super) fn compare_times(
    heard: &Heard,
    began: &BTreeMap<TurnId, Duration>,
    findings: &mut Findings,
) {
    let moment = |at: Duration| Timestamp::from_millis(MORNING).after(at);
    for (at, event) in heard {
        let is_early = began.get(&event.turn).is_some_and(|asked| event.at < moment(*asked));
        if event.at > moment(*at) || is_early {
            let what = format!("heard at {:?} that it happened at {:?}", moment(*at), event.at);
            findings.misreported.insert(what);
        }
    }
}

impl Session {
    /// What the reader heard is what is stored: each entry and each end once and in order, as it stands.
    pub(super) fn compare_heard(&self, heard: &Heard, findings: &mut Findings) {
        let name = &self.stored.row.session;
        if !heard.is_sorted_by_key(|(_, event)| event.cursor) {
            findings.misreported.insert(format!("{name} was not told in order"));
        }
        let mut told = BTreeMap::<EventCursor, Vec<&SessionEvent>>::new();
        for (_, event) in heard {
            told.entry(event.cursor).or_default().push(event);
        }
        let mut places = BTreeSet::new();
        for message in &self.stored.messages {
            let place = EventCursor::of_entry(message.seq);
            places.insert(place);
            let events = told.get(&place).into_iter().flatten();
            let events: Vec<_> =
                events.filter(|event| tells(&event.kind, &message.content)).collect();
            let what = || format!("{name} {place}: stored {message:?}, told {events:?}");
            match events.as_slice() {
                [] => drop(findings.lost.insert(what())),
                [event] if is_same(event, message) => {}
                [_] => drop(findings.misreported.insert(what())),
                _ => drop(findings.doubled.insert(what())),
            }
        }
        for entry in &self.story.entries {
            let Some((at, end)) = &entry.end else { continue };
            let (place, turn) = (EventCursor::of_entry(entry.message.seq), entry.message.turn);
            places.extend([place.error(), place.end()]);
            let ends = told.get(&place.end()).into_iter().flatten().filter(|event| {
                (event.turn, event.at) == (turn, *at)
                    && event.kind == EventKind::TurnEnded { ending: end.ending, usage: end.usage }
            });
            let errors = told.get(&place.error()).into_iter().flatten().filter(|event| {
                (event.turn, event.at) == (turn, *at)
                    && matches!(&event.kind, EventKind::Error { error, .. } if Some(error) == end.error.as_ref())
            });
            let (ends, errors) = (ends.count(), errors.count());
            if (ends, errors) != (1, usize::from(end.error.is_some())) {
                let what = format!("{name} {place}: {end:?} was told {ends} and {errors} times");
                findings.misreported.insert(what);
            }
        }
        for (_, event) in heard {
            let is_kept = matches!(
                event.kind,
                EventKind::UserMessage { .. }
                    | EventKind::ModelMessage { .. }
                    | EventKind::ToolCallEnded { .. }
                    | EventKind::SystemNotice { .. }
                    | EventKind::Cleared
                    | EventKind::TurnEnded { .. }
            );
            if is_kept && !places.contains(&event.cursor) {
                findings.lost.insert(format!("{name} {}: told {event:?}", event.cursor));
            }
        }
    }
}

fn tells(kind: &EventKind, content: &Content) -> bool {
    matches!(
        (kind, content),
        (EventKind::UserMessage { .. }, Content::User { .. })
            | (EventKind::ModelMessage { .. }, Content::Model { .. })
            | (EventKind::ToolCallEnded { .. }, Content::ToolCall(_))
            | (EventKind::SystemNotice { .. }, Content::Notice { .. })
            | (EventKind::Cleared, Content::Cleared)
    )
}

/// Whether an entry was told as it is stored.
fn is_same(event: &SessionEvent, message: &ChatMessage) -> bool {
    (event.turn, event.at) == (message.turn, message.at)
        && match (&event.kind, &message.content) {
            (EventKind::UserMessage { text: told }, Content::User { text }) => told == text,
            (
                EventKind::ModelMessage { text: told, ending: how },
                Content::Model { text, ending },
            ) => (told, how) == (text, ending),
            (EventKind::ToolCallEnded { record: told }, Content::ToolCall(record)) => {
                is_same_call(told, record)
            }
            _ => true,
        }
}

/// A call that was resolved since was told so later.
fn is_same_call(told: &CallRecord, stored: &CallRecord) -> bool {
    if told.resolved_by.is_some() || stored.resolved_by.is_none() {
        return told == stored;
    }
    let (effect, resolved_by) = (told.effect, None);
    effect == Effect::Unknown && *told == CallRecord { effect, resolved_by, ..stored.clone() }
}
