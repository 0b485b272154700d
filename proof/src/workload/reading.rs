//! Lets a person read the events of a session, with breaks, and record each event.

use std::fmt;

use madang::{
    Clock as _,
    event::{EventCursor, EventKind, StreamItem},
    ledger::CallRecord,
};
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    person::{AGAIN, Person},
    point::Point,
};
use crate::{mistakes::Mistake, oracle::Line};

impl Person {
    /// Reads events from the last read cursor on, and leaves and returns now and then.
    pub(super) async fn read(self, over: CancellationToken, tasks: TaskTracker) {
        let scene = &self.life.scene;
        let number = self.number;
        while !over.is_cancelled() {
            let read_to = scene.witness.oracle().read_to.get(&number).copied();
            let read_to = read_to.unwrap_or(EventCursor::START);
            let Ok(mut events) = self.session.subscribe_after(read_to).await else {
                sleep(AGAIN).await;
                continue;
            };
            while !scene.fate.fails_once_in(40) {
                let item = tokio::select! {
                    biased;
                    item = events.next() => item,
                    () = over.cancelled() => return,
                };
                let Some(item) = item else { break };
                let StreamItem::Event(event) = item else {
                    scene.fate.note(format_args!("{number} hears {item:?}"));
                    continue;
                };
                let what = Kind(&event.kind);
                let what = format_args!("{number} hears {} {} {what}", event.cursor, event.turn);
                scene.fate.note(what);
                if self.life.makes(Mistake::FrontEndMissesEvents) && scene.fate.below(8) == 0 {
                    self.note(Line::Missed { session: number, cursor: event.cursor });
                    continue;
                }
                if matches!(event.kind, EventKind::ToolCallEnded { .. }) {
                    scene.fate.pass(Point::OutcomeHeard, format_args!("{number} hears an outcome"));
                }
                let at = scene.fate.now();
                self.note(Line::Heard { session: number, at, event: event.clone() });
                if let EventKind::ApprovalRequested { request } = &event.kind {
                    tasks.spawn(self.clone().answer(request.clone()));
                }
            }
        }
    }
}

/// An event without the parts that differ each time.
struct Kind<'a>(&'a EventKind);

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let EventKind::ApprovalRequested { request } = self.0 {
            write!(f, "asked {} {}", request.call, request.arguments)
        } else if let EventKind::ToolCallEnded { record } = self.0 {
            let CallRecord { id, outcome, effect, result, .. } = &**record;
            write!(f, "ended {id} {outcome:?} {effect:?} {result:?}")
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}
