//! The figures of a series of kills of a server.

use crate::audit::Findings;

/// The figures of a series.
#[derive(Debug, Clone, Default)]
pub struct ServeFigures {
    /// Servers that died by SIGKILL.
    pub kills: u64,
    /// Of these, servers with a chosen point.
    pub kills_at_points: u64,
    /// Servers that ended in order, under their clients.
    pub ends_in_order: u64,
    /// Databases.
    pub files: u64,
    /// Keys under which a turn began.
    pub keys: u64,
    /// The requests that submitted them, as far as a server took the connection.
    pub posts: u64,
    /// Of these, answered ones of Chat Completions, AG-UI and the AI SDK.
    pub abroad: u64,
    /// Streams that went on behind a cursor.
    pub resumed: u64,
    /// Events that clients heard.
    pub heard: u64,
    /// Decisions about approval requests.
    pub decisions: u64,
    /// Of these, sent by AG-UI or the AI SDK at the instant at which the native surface had them.
    pub decisions_abroad: u64,
    /// Requests for what belongs to another user.
    pub probes: u64,
    /// Effects that were acknowledged.
    pub acknowledged: usize,
    /// The broken promises.
    pub findings: Findings,
}
