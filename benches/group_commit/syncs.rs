//! Counts how often SQLite asks the system to put a file on the disk, and makes the disk slower.
//!
//! SQLite is linked into this program and calls `fsync`, which the linker finds here first. On
//! systems where it calls another function nothing is counted, and no disk is slower.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// The time of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// The time of this machine.
    AsItIs,
    /// Two milliseconds more: a common disk takes 1.5 to 4.
    Slow,
}

static COUNT: AtomicU64 = AtomicU64::new(0);
static IS_SLOW: AtomicBool = AtomicBool::new(false);
const SLOWER_BY: Duration = Duration::from_millis(2);

/// Returns the number of syncs so far; `None` if they are not counted.
pub(crate) fn count() -> Option<u64> {
    cfg!(target_os = "linux").then(|| COUNT.load(SeqCst))
}

/// Sets the time of each sync from now on.
pub(crate) fn slow_down(disk: Disk) {
    IS_SLOW.store(disk == Disk::Slow, SeqCst);
}

/// Takes SQLite's calls of `fsync`. `fdatasync` syncs all that SQLite reads again.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the only way to see a call of a C library from inside")]
#[unsafe(no_mangle)]
extern "C" fn fsync(file: std::ffi::c_int) -> std::ffi::c_int {
    unsafe extern "C" {
        fn fdatasync(file: std::ffi::c_int) -> std::ffi::c_int;
    }
    COUNT.fetch_add(1, SeqCst);
    if IS_SLOW.load(SeqCst) {
        #[expect(clippy::disallowed_methods, reason = "a slow disk blocks its callers")]
        std::thread::sleep(SLOWER_BY);
    }
    // SAFETY: it takes any number, and says so where that is no open file.
    unsafe { fdatasync(file) }
}
