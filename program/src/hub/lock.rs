//! Lets one program download a file while others wait.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
    time::Duration,
};

use super::{cache, error::HubError};

/// The time between two looks of a waiting program.
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// A stalled download gives up sooner (`Retry::downloading`, `Bounds::USUAL`), and a resumed one
/// has read some fifty gigabytes by then. A program without progress for this long hangs.
const MAX_STANDSTILL: Duration = Duration::from_secs(300);

/// The right to write a file of the cache, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _held: File,
}

impl Lock {
    /// Takes the lock in this file, as the hub's own tools do (`flock`). While another program has
    /// it, says so once, and waits as long as files with this beginning of the name grow. (The
    /// newest of those tools append letters.)
    pub(super) async fn take(
        path: &Path,
        growing: &Path,
        file: &str,
        waits: impl FnOnce(),
    ) -> Result<Self, HubError> {
        let error = |cause| HubError::unwritten(path, cause);
        cache::create_folder_of(path).map_err(error)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let lock = lock.map_err(error)?;
        let bytes = || cache::bytes_named(growing);
        let mut waits = Some(waits);
        let mut known = bytes();
        let mut waited = Duration::ZERO;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { _held: lock }),
                Err(TryLockError::Error(cause)) => return Err(error(cause)),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(say) = waits.take() {
                say();
            }
            tokio::time::sleep(LOOKS_EVERY).await;
            waited = if bytes() == known { waited + LOOKS_EVERY } else { Duration::ZERO };
            known = bytes();
            if waited >= MAX_STANDSTILL {
                let waited = waited.as_secs();
                return Err(HubError::new(format!(
                    "another program downloads {file} and has not come further for {waited} s: end it and try again"
                ))
                .older_will_do());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_waiting_program_gives_up_on_a_stalled_holder_and_not_on_a_slow_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, growing) = (folder.path().join("locks/a.lock"), folder.path().join("a"));
        let first = Lock::take(&path, &growing, "a", || panic!("it is free")).await.unwrap();
        let said = Cell::new(0);
        let begun = tokio::time::Instant::now();
        let slow = async {
            for bytes in 1..=3 {
                tokio::time::sleep(MAX_STANDSTILL - LOOKS_EVERY * 2).await;
                std::fs::write(folder.path().join("a.other.incomplete"), vec![0; bytes]).unwrap();
            }
        };
        let second = Lock::take(&path, &growing, "a", || said.set(said.get() + 1));
        let (second, ()) = tokio::join!(second, slow);
        let stalled = second.unwrap_err();
        assert!(stalled.to_string().contains("has not come further for 300 s"), "{stalled}");
        assert!(stalled.leaves_the_older());
        assert_eq!(said.get(), 1);
        assert!(begun.elapsed() > MAX_STANDSTILL * 3);
        drop(first);
        Lock::take(&path, &growing, "a", || panic!("it is free")).await.unwrap();
    }
}
