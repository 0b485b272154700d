//! Records the metrics of the server through the facade, so that the program chooses where they go.
//! Labels are names and routes, and never an id, a path or a text.

use std::time::Duration;

use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

const REQUEST_DURATION: &str = "http.server.request.duration";
const ACTIVE_REQUESTS: &str = "http.server.active_requests";
const CONNECTIONS: &str = "madang.server.connections";
const STREAMS: &str = "madang.server.streams";
const RESUMES: &str = "madang.server.stream.resumes";
const LAGGED: &str = "madang.server.stream.lagged";
const REWRITES: &str = "madang.server.stream.rewrites";
const FIRST_BYTE: &str = "madang.server.stream.first_byte.duration";
const REFUSED: &str = "madang.server.refused";
const AUTH_FAILURES: &str = "madang.server.auth_failures";
const DECISIONS: &str = "madang.server.decisions";
const INBOX_WAITING: &str = "madang.server.inbox.waiting";

/// What each counter counts.
const COUNTERS: [(&str, &str); 6] = [
    (RESUMES, "streams that resume after a cursor, by source and result"),
    (LAGGED, "events that slow readers missed in memory"),
    (REWRITES, "messages that differ from what was streamed of them"),
    (REFUSED, "requests that ended with a problem, by its name"),
    (AUTH_FAILURES, "requests without a valid credential, by kind"),
    (DECISIONS, "decisions about approval requests, by surface and outcome"),
];
/// What each gauge measures.
const GAUGES: [(&str, &str); 4] = [
    (ACTIVE_REQUESTS, "requests whose answer has not begun"),
    (CONNECTIONS, "open connections"),
    (STREAMS, "open streams, by surface"),
    (INBOX_WAITING, "approval requests that open inboxes show"),
];

/// Describes each metric of the server to the recorder.
pub fn describe_server() {
    let head = "from a request's head to the answer's head";
    describe_histogram!(REQUEST_DURATION, Unit::Seconds, head);
    describe_histogram!(FIRST_BYTE, Unit::Seconds, "from a stream's request to its first item");
    for (name, what) in COUNTERS {
        describe_counter!(name, Unit::Count, what);
    }
    for (name, what) in GAUGES {
        describe_gauge!(name, Unit::Count, what);
    }
}

/// Counts something for as long as this lives.
#[derive(Debug)]
pub(crate) struct Counted(metrics::Gauge);

/// Hides the gauge, which has nothing to show.
impl Counted {
    fn new(gauge: metrics::Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }

    /// Counts a request until its answer begins.
    pub(crate) fn request() -> Self {
        Self::new(gauge!(ACTIVE_REQUESTS))
    }

    /// Counts a connection.
    pub(crate) fn connection() -> Self {
        Self::new(gauge!(CONNECTIONS))
    }

    /// Counts a stream of a surface.
    pub(crate) fn stream(surface: &'static str) -> Self {
        Self::new(gauge!(STREAMS, "surface" => surface))
    }

    /// Counts an approval request that an inbox shows.
    pub(crate) fn open_request() -> Self {
        Self::new(gauge!(INBOX_WAITING))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Records an answer to a request of a route's pattern.
pub(crate) fn answered(method: &'static str, route: String, status: u16, took: Duration) {
    let labels = [("method", method.into()), ("route", route), ("status", status.to_string())];
    histogram!(REQUEST_DURATION, &labels).record(took);
}

/// Counts a request that ended with a problem.
pub(crate) fn refused(name: &'static str) {
    counter!(REFUSED, "name" => name).increment(1);
}

/// Counts a request without a valid credential.
pub(crate) fn auth_failed(kind: &'static str) {
    counter!(AUTH_FAILURES, "kind" => kind).increment(1);
}

/// Counts a decision that came through a surface.
pub(crate) fn decided(surface: &'static str, outcome: &'static str) {
    counter!(DECISIONS, "surface" => surface, "outcome" => outcome).increment(1);
}

/// Counts a stream that resumes after a cursor: from memory or from the store, and whether it
/// could.
pub(crate) fn resumed(from: &'static str, outcome: &'static str) {
    counter!(RESUMES, "from" => from, "outcome" => outcome).increment(1);
}

/// Counts events that a slow reader missed in memory.
pub(crate) fn lagged(events: u64) {
    counter!(LAGGED).increment(events);
}

/// Counts a message that differs from what a surface has streamed of it. It stays at 0 unless a
/// model is faulty.
pub(crate) fn rewritten(surface: &'static str) {
    counter!(REWRITES, "surface" => surface).increment(1);
}

/// Records how long the first item of a stream took.
pub(crate) fn first_byte(surface: &'static str, took: Duration) {
    histogram!(FIRST_BYTE, "surface" => surface).record(took);
}
