//! A thread that waits for a future, for programs without an async runtime.

use std::io;

/// Runs a future to its end on this thread, on a Tokio runtime of its own, for programs without one. Tasks that the
/// future spawned end with it, so shut the runtime of the chats down first. A server builds its own Tokio runtime
/// instead.
///
/// # Errors
/// The error of a system that gives no timer or no events.
///
/// # Panics
/// If this thread runs a Tokio runtime already.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
