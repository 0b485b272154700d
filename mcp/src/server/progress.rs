//! Reports to a client how far its call has come, if the client has asked for that by a token. It
//! passes on the tool's reports, and says from time to time that the call still runs.

use std::{pin::pin, time::Duration};

use madang::{RunningCall, tool::ToolProgress};
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use tokio::time::{Instant, interval_at};

/// The time between two reports of progress. It is shorter than the shortest wait after which
/// clients and proxies give up.
const PERIOD: Duration = Duration::from_secs(10);
/// What a report adds to the last number if it has nothing new, because the protocol wants each
/// number above the last.
const NEXT: f64 = 1e-6;
const RUNS: &str = "The call runs.";
const WAITS: &str = "The call waits for a decision of its user on another device.";

/// Reports how far a call has come, if its client wants to know.
pub(super) struct Progress {
    told: Option<(Peer<RoleServer>, ProgressToken)>,
    /// A handle of its own, so that each report is read here.
    call: RunningCall,
    newest: ToolProgress,
    /// The number that was sent last.
    last: Option<f64>,
}

impl Progress {
    pub(super) fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        call: &RunningCall,
    ) -> Self {
        let told = token.map(|token| (peer, token));
        let newest = ToolProgress::new(0.0).saying(RUNS);
        Self { told, call: call.clone(), newest, last: None }
    }

    /// Waits, and reports meanwhile how far the call has come.
    pub(super) async fn during<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        loop {
            let wants = self.told.is_some();
            tokio::select! {
                biased;
                ended = wait.as_mut() => return ended,
                Some(report) = self.call.progress(), if wants => self.tell(report).await,
                _ = ticks.tick(), if wants => self.tell(self.newest.clone()).await,
            }
        }
    }

    /// Reports that a person is asked elsewhere.
    pub(super) async fn waits_elsewhere(&mut self) {
        self.tell(self.newest.clone().saying(WAITS)).await;
    }

    async fn tell(&mut self, mut report: ToolProgress) {
        report.done = self.last.map_or(report.done, |last| report.done.max(last + NEXT));
        self.last = Some(report.done);
        self.newest = report.clone();
        let Some((peer, token)) = &self.told else { return };
        let mut told = ProgressNotificationParam::new(token.clone(), report.done);
        told.total = report.total;
        told.message = report.message.map(|message| message.to_string());
        // A client that has left receives nothing.
        let _ = peer.notify_progress(told).await;
    }
}
