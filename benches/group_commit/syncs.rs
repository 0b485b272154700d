//! How often SQLite lets the system put a file on the disk, counted where it asks for that; and a slower disk.
//!
//! SQLite is linked into this program and calls `fsync`, which is found here first. On systems where it calls something
//! else nothing is counted, and no disk is slower.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// How long a sync takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// As long as it takes here.
    AsItIs,
    /// Two milliseconds more: a common disk takes 1.5 to 4.
    Slow,
}

static COUNT: AtomicU64 = AtomicU64::new(0);
static IS_SLOW: AtomicBool = AtomicBool::new(false);
const SLOWER_BY: Duration = Duration::from_millis(2);

/// How many syncs there were; `None` where they are not counted.
pub(crate) fn count() -> Option<u64> {
    cfg!(target_os = "linux").then(|| COUNT.load(SeqCst))
}

/// From now on each sync takes this long.
pub(crate) fn slow_down(disk: Disk) {
    IS_SLOW.store(disk == Disk::Slow, SeqCst);
}

/// What SQLite's calls of `fsync` arrive at. `fdatasync` syncs all that SQLite reads again.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the only way to see a call of a C library from inside")]
#[unsafe(no_mangle)]
extern "C" fn fsync(file: std::ffi::c_int) -> std::ffi::c_int {
    unsafe extern "C" {
        fn fdatasync(file: std::ffi::c_int) -> std::ffi::c_int;
    }
    COUNT.fetch_add(1, SeqCst);
    if IS_SLOW.load(SeqCst) {
        #[expect(clippy::disallowed_methods, reason = "a slow disk blocks whoever waits for it")]
        std::thread::sleep(SLOWER_BY);
    }
    // SAFETY: it takes any number, and says so where that is no open file.
    unsafe { fdatasync(file) }
}
