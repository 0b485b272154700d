//! The server as clients know it: its address, the tokens of its users, and what they found broken.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use madang::{Clock as _, Timestamp};
use madang_actors::port::SystemClock;
use tokio::time::timeout;

use super::ServeFigures;
use crate::{
    audit::Counter,
    http::{HttpAnswer, HttpRequest},
    oracle::{Line, Witness},
    workload::SessionPlan,
};

/// What all clients of a server share.
#[derive(Debug)]
pub(super) struct Site {
    /// The address that clients connect to.
    pub(super) address: SocketAddr,
    /// The name of the server in requests.
    pub(super) host: String,
    /// The sessions, each with the secret of its user's token.
    pub(super) sessions: Vec<(SessionPlan, String)>,
    pub(super) witness: Witness,
    pub(super) patience: Duration,
    pub(super) figures: Arc<Mutex<ServeFigures>>,
}

/// The time after which a client tries again.
pub(super) const AGAIN: Duration = Duration::from_millis(10);

impl Site {
    /// Sends a request of a session's user, and reads the head of the answer.
    ///
    /// # Errors
    /// An error of the connection, or that no answer came in time.
    pub(super) async fn send(&self, number: usize, request: HttpRequest) -> io::Result<HttpAnswer> {
        let secret = &self.sessions[number].1;
        let request = request.field("host", &self.host);
        let request = request.field("authorization", &format!("Bearer {secret}"));
        let sent = timeout(self.patience, request.send(self.address)).await;
        sent.unwrap_or_else(|_| {
            self.finds(Counter::Stuck, format!("no answer to {}", request.target));
            Err(io::ErrorKind::TimedOut.into())
        })
    }

    /// Adds what a server reports to the oracle.
    pub(super) fn hear(&self, report: &str) {
        if let Ok(line) = serde_json::from_str(report) {
            self.note(line);
        }
    }

    pub(super) fn note(&self, line: Line) {
        self.witness.note(line);
    }

    pub(super) fn finds(&self, counter: Counter, what: String) {
        self.witness.finds(counter, what);
    }

    pub(super) fn figures(&self) -> MutexGuard<'_, ServeFigures> {
        self.figures.lock().expect("no code under this lock panics")
    }
}

/// Returns the moment, by the clock that the server has as well.
pub(super) fn now() -> Timestamp {
    SystemClock.now()
}
