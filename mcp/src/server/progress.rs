//! Tells a client that its call still runs, where it has asked for that by a token.

use std::{pin::pin, time::Duration};

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use tokio::time::{Instant, interval_at};

/// The time between two words of progress: sooner than the first wait that clients and proxies end.
const PERIOD: Duration = Duration::from_secs(10);
const RUNS: &str = "The call runs.";
const WAITS: &str = "The call waits for a decision of its user on another device.";

/// How far a call has come, for a client that wants to hear it.
pub(super) struct Progress<'a> {
    told: Option<(&'a Peer<RoleServer>, ProgressToken)>,
    steps: f64,
    message: &'static str,
}

impl<'a> Progress<'a> {
    pub(super) fn of(context: &'a RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { told: token.map(|token| (&context.peer, token)), steps: 0.0, message: RUNS }
    }

    /// Waits, and tells of it from time to time.
    pub(super) async fn during<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        loop {
            tokio::select! {
                biased;
                ended = wait.as_mut() => return ended,
                _ = ticks.tick(), if self.told.is_some() => self.tell().await,
            }
        }
    }

    /// Tells that a person is asked elsewhere.
    pub(super) async fn waits_elsewhere(&mut self) {
        self.message = WAITS;
        self.tell().await;
    }

    async fn tell(&mut self) {
        let Some((peer, token)) = &self.told else { return };
        self.steps += 1.0;
        let step = ProgressNotificationParam::new(token.clone(), self.steps);
        // A client that has left hears nothing.
        drop(peer.notify_progress(step.with_message(self.message)).await);
    }
}
