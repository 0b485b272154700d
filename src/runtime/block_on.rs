//! Waiting for a future in programs without an async runtime.

use std::io;

/// Runs a future to its end on this thread and returns its output. It starts a Tokio runtime for
/// that, so it is meant for programs without one; a server builds a Tokio runtime itself. Tasks
/// that the future spawned are cancelled when it ends, so shut the chats' runtime down first.
///
/// # Errors
/// The error of the operating system if it provides no timer or no I/O events.
///
/// # Panics
/// If this thread already runs a Tokio runtime.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
