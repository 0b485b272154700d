//! The right to a store: one runtime at a time has it, however many clones the store has.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// Whether a runtime has a store. Clones of a store share it.
#[derive(Debug, Clone, Default)]
pub struct Occupancy(Arc<AtomicBool>);

/// The right of one runtime to a store. Releasing or dropping it frees the store.
#[derive(Debug)]
pub struct Occupied(Arc<AtomicBool>, AtomicBool);

impl Occupancy {
    /// Takes the store for a runtime. Returns `None` while another one has it.
    #[must_use]
    pub fn occupy(&self) -> Option<Occupied> {
        let is_free = self.0.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        is_free.then(|| Occupied(self.0.clone(), AtomicBool::new(true)))
    }
}

impl Occupied {
    /// Frees the store. A second release changes nothing, because another runtime may have it by
    /// then.
    pub fn release(&self) {
        if self.1.swap(false, SeqCst) {
            self.0.store(false, SeqCst);
        }
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_has_it_and_a_former_one_takes_it_from_no_other() {
        let store = Occupancy::default();
        let clone = Occupancy::default();
        let first = store.occupy().expect("it is free");
        assert!(store.clone().occupy().is_none());
        assert!(clone.occupy().is_some(), "another store");
        first.release();
        let second = store.occupy().expect("it was given back");
        first.release();
        drop(first);
        assert!(store.occupy().is_none(), "the second has it");
        drop(second);
        assert!(store.occupy().is_some());
    }
}
