//! Stops handlers until the test releases them, and counts those that began.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Semaphore, watch};

/// Stops handlers until the test releases them, and lets the test wait until they have arrived.
/// Clones share one gate.
#[derive(Debug, Clone)]
pub struct Gate {
    arrived: Arc<watch::Sender<usize>>,
    open: Arc<Semaphore>,
}

impl Gate {
    /// Creates a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self { arrived: Arc::new(watch::Sender::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until this many handlers have arrived in all, since the gate was created.
    pub async fn arrived(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        arrived.wait_for(|arrived| *arrived >= count).await.expect("the gate holds the sender");
    }

    /// Lets one handler continue: the one that has waited longest, or the next one that arrives.
    pub fn release(&self) {
        self.open.add_permits(1);
    }

    /// Lets every handler continue, now and later.
    pub fn open(&self) {
        self.open.close();
    }

    /// Arrives at the gate and waits until it is released, as a handler does. A model may wait here
    /// too.
    pub async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts the handlers that began. Clones share one counter.
#[derive(Debug, Clone, Default)]
pub struct Runs(Arc<AtomicUsize>);

impl Runs {
    pub(super) fn count_one(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how many handlers have begun.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
