//! What all clones and connections of a memory store share, and the faults that a test orders.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::sync::{Mutex as Turnstile, RwLock as Gate, oneshot};

use super::layer::Layer;
use madang_actors::{
    ledger::{ErasedChain, SealKeys},
    port::{Occupancy, StoreError},
};

/// The state that all clones and connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) keys: SealKeys,
    pub(super) committed: RwLock<Layer>,
    /// Held by the open transaction.
    pub(super) writer: Arc<Turnstile<()>>,
    /// Each commit passes it, and a pause closes it.
    pub(super) gate: Arc<Gate<()>>,
    pub(super) faults: Mutex<Faults>,
    pub(super) commits: AtomicU64,
    pub(super) readings: AtomicU64,
    pub(super) occupancy: Occupancy,
    /// Delays for answers about keys, in the order of the questions.
    pub(super) late: Mutex<VecDeque<oneshot::Receiver<()>>>,
    /// The records of erased chains.
    pub(super) erased: Mutex<Vec<ErasedChain>>,
}

/// The steps that fail next.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) begin: Option<StoreError>,
    pub(super) commits: VecDeque<(StoreError, Committed)>,
    pub(super) read: Option<StoreError>,
    pub(super) links: Option<StoreError>,
    /// How many reads of a whole session fail.
    pub(super) loads: usize,
}

/// What a failing commit still does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Committed {
    Yes,
    No,
}

impl Shared {
    pub(super) fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Layer) -> T) -> T {
        read(&self.committed.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn commit(&self, layer: Layer) {
        self.commits.fetch_add(1, Relaxed);
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        let deleted = layer.deleted();
        committed.absorb(layer);
        committed.settle(&deleted);
        let erased = std::mem::take(&mut committed.erased).into_iter();
        let erased = erased.map(|chain| chain.sealed(&self.keys));
        self.erased.lock().unwrap_or_else(PoisonError::into_inner).extend(erased);
    }
}
