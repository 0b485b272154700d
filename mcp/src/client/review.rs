//! Shows one server to a person who may trust it. What is shown is what is pinned.

use std::path::PathBuf;

use super::{
    config::McpConfig,
    connection::Connection,
    error::McpError,
    lock::{Lock, PinnedChange},
    offer::{Candidate, candidates, fingerprint},
    report::{McpOffer, McpServerReport, McpToolReport},
    supervisor::{Fingerprints, SupervisedServer},
    text::visible,
};

/// What a server said of its tools at one moment. [`trust`](Self::trust) pins that, and asks the
/// server nothing more.
#[derive(Debug)]
pub struct McpReview {
    config: PathBuf,
    server: String,
    fingerprint: String,
    candidates: Vec<Candidate>,
}

impl McpReview {
    /// Starts a server, reads its tools, and ends it again. To drop the future ends the server too.
    ///
    /// # Errors
    /// Returns [`McpError`] if there is no such server, or if it does not start.
    pub async fn of(config: &McpConfig, server: &str) -> Result<Self, McpError> {
        let entry = config.entries().iter().find(|entry| entry.name == server);
        let entry = entry.ok_or_else(|| McpError::UnknownServer {
            path: config.path().to_owned(),
            server: server.to_owned(),
        })?;
        let failed = |cause| McpError::Start { server: server.to_owned(), cause };
        let (connection, list) = Connection::open(entry).await.map_err(failed)?;
        let running =
            SupervisedServer::spawn(entry.clone(), connection, &list, Fingerprints::new());
        running.stop();
        running.ended().await;
        let candidates = candidates(entry, &list);
        let fingerprint = fingerprint(&candidates);
        let config = config.path().to_owned();
        let server = server.to_owned();
        Ok(Self { config, server, fingerprint, candidates })
    }

    /// Returns the SHA-256 of all that the server says of the tools that can be offered, as
    /// hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the tools as the model would read them.
    #[must_use]
    pub fn report(&self) -> McpServerReport {
        let tools = self.candidates.iter().map(|candidate| McpToolReport {
            original: visible(&candidate.tool.name),
            offer: match candidate.spec.clone() {
                Ok(spec) => McpOffer::Offered(spec),
                Err(why) => McpOffer::Refused { why },
            },
        });
        McpServerReport {
            server: self.server.clone(),
            failure: None,
            fingerprint: Some(self.fingerprint.clone()),
            tools: tools.collect(),
        }
    }

    /// Returns how each tool differs from what was pinned before.
    ///
    /// # Errors
    /// Returns [`McpError`] if the pins cannot be read.
    pub fn changes(&self) -> Result<Vec<(String, PinnedChange)>, McpError> {
        Ok(Lock::beside(&self.config)?.changes(&self.server, &self.candidates))
    }

    /// Pins the tools if they have this fingerprint, and returns how each differs from what was
    /// pinned before.
    ///
    /// # Errors
    /// Returns [`McpError`] if the fingerprint is another one, or if the pins cannot be written.
    /// Nothing is pinned then.
    pub fn trust(&self, fingerprint: &str) -> Result<Vec<(String, PinnedChange)>, McpError> {
        if fingerprint != self.fingerprint {
            return Err(McpError::OtherTools {
                server: self.server.clone(),
                wanted: fingerprint.to_owned(),
                found: self.fingerprint.clone(),
            });
        }
        let before = Lock::beside(&self.config)?;
        let mut lock = before.clone();
        lock.pin(&self.server, &self.candidates);
        lock.write_if_changed(&before)?;
        Ok(before.changes(&self.server, &self.candidates))
    }
}
