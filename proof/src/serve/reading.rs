//! Lets a client read the events of its session, break off now and then, and go on behind the last
//! one.

use std::sync::{Arc, Mutex};

use madang::event::{EventKind, SessionEvent};
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    client::Client,
    frames::FrameReader,
    notes::ReaderNotes,
    site::{AGAIN, now},
};
use crate::{
    audit::Counter,
    http::{HttpAnswer, HttpRequest},
    oracle::Line,
};

/// The frames, on average, after which a reader leaves without a reason.
const FRAMES: u64 = 40;

impl Client {
    /// Reads until it is told to stop.
    pub(super) async fn read(self: Arc<Self>, over: CancellationToken, tasks: TaskTracker) {
        let reading = async {
            loop {
                self.reads_once(&tasks).await;
                sleep(AGAIN / 2).await;
            }
        };
        over.run_until_cancelled(reading).await;
    }

    /// Reads one stream, from the last cursor to where it breaks off.
    async fn reads_once(self: &Arc<Self>, tasks: &TaskTracker) {
        let mut request = HttpRequest::new("GET", &self.path("/events"));
        let cursor = self.notes().cursor().map(str::to_owned);
        if let Some(cursor) = &cursor {
            request = request.field("last-event-id", cursor);
        }
        let Ok(mut answer) = self.site.send(self.number, request).await else { return };
        match answer.status {
            200 => {}
            429 | 503 => return,
            status => {
                let body = answer.body.whole().await.unwrap_or_default();
                let body = String::from_utf8_lossy(&body).into_owned();
                let what = format!("a reader behind {cursor:?} is refused: {status} {body}");
                return self.site.finds(Counter::Lost, what);
            }
        }
        if cursor.is_some() {
            self.site.figures().resumed += 1;
        }
        self.hears_stream(&self.notes, &mut answer, |event| self.hears(event, tasks)).await;
    }

    /// Hears a stream until it ends, or leaves before.
    pub(super) async fn hears_stream(
        &self,
        notes: &Mutex<ReaderNotes>,
        answer: &mut HttpAnswer,
        mut hear: impl FnMut(SessionEvent),
    ) {
        let notes = || notes.lock().expect("no code under this lock panics");
        let find = |(counter, what): (Counter, String)| {
            self.site.finds(counter, format!("client {}: {what}", self.number));
        };
        notes().connects();
        let mut frames = FrameReader::default();
        loop {
            match answer.body.next().await {
                Ok(Some(piece)) => frames.push(&piece),
                Ok(None) => {
                    let fault = notes().ends_in_order();
                    return fault.into_iter().for_each(find);
                }
                Err(_) => return,
            }
            while let Some(frame) = frames.next() {
                let (event, faults) = notes().hears(&frame);
                faults.into_iter().for_each(find);
                event.into_iter().for_each(&mut hear);
                if self.below(FRAMES) == 0 {
                    return;
                }
            }
        }
    }

    fn hears(self: &Arc<Self>, event: SessionEvent, tasks: &TaskTracker) {
        let event = Arc::new(event);
        let at = now();
        self.site.note(Line::Heard { session: self.number, at, event: event.clone() });
        self.site.figures().heard += 1;
        if let EventKind::ApprovalRequested { request } = &event.kind {
            tasks.spawn(self.clone().decides(request.clone()));
        } else if let EventKind::TurnEnded { ending, .. } = &event.kind {
            self.ended.send_modify(|ended| {
                ended.insert(event.turn, *ending);
            });
        }
    }
}
