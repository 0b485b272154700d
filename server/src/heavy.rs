//! Runs work that grows with the data that a client sends or has stored. Long work runs on a thread
//! for blocking work, where it delays nobody.

/// How many bytes a worker thread reads, hashes or compares in about a millisecond.
const LIGHT_BYTES: usize = 64 * 1024;

/// Does work on this many bytes. If they are many, it runs on a thread for blocking work, so that
/// other requests are answered in the meantime.
pub(crate) async fn run<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes <= LIGHT_BYTES {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn long_work_is_not_done_on_a_worker_thread_and_short_work_is() {
        let worker = thread::current().id();
        let done_on = async |bytes| run(bytes, || thread::current().id()).await;
        assert_eq!(done_on(LIGHT_BYTES).await, worker);
        assert_ne!(done_on(LIGHT_BYTES + 1).await, worker);
    }
}
