//! How far the server is on its way to its end.

use tokio::sync::watch;

/// The steps from serving to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DrainPhase {
    /// All is served.
    Serving,
    /// Nothing begins any more; what runs comes to its end, and streams tell of it.
    Draining,
    /// Nothing runs any more: streams say so and close.
    Leaving,
}

/// The phase of a server, which streams wait for. Phases only go forward.
#[derive(Debug, Clone)]
pub(crate) struct Drain(watch::Sender<DrainPhase>);

impl Drain {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(DrainPhase::Serving))
    }

    /// Goes on to a phase; earlier ones change nothing.
    pub(crate) fn enter(&self, phase: DrainPhase) {
        self.0.send_if_modified(|now| {
            let is_later = *now < phase;
            *now = (*now).max(phase);
            is_later
        });
    }

    /// Tells whether nothing may begin any more.
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() >= DrainPhase::Draining
    }

    /// Waits until the server has come to this phase.
    pub(crate) async fn reached(&self, phase: DrainPhase) {
        let mut watch = self.0.subscribe();
        // The sender is here, so the wait can only end with the phase.
        drop(watch.wait_for(|now| *now >= phase).await);
    }
}
