//! Code whose panic is a value: a future, or a function.

use std::{
    any::Any,
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

/// Returned if the code panicked. The message of the panic is dropped.
#[derive(Debug)]
pub struct Panicked;

/// Returns what the future returns, or [`Panicked`]. A mutex that it held during a panic is
/// poisoned.
///
/// # Errors
/// [`Panicked`], even if only the drop of the future panicked.
pub async fn unwind<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = Box::pin(future);
    let ended = polled(future.as_mut()).await;
    caught(|| drop(future)).and(ended)
}

/// Returns what the future returns, or [`Panicked`]. A panic of its drop is the caller's.
pub(crate) async fn polled<F: Future>(mut future: Pin<&mut F>) -> Result<F::Output, Panicked> {
    let polled = poll_fn(|context| match caught(|| future.as_mut().poll(context)) {
        Ok(polled) => polled.map(Ok),
        Err(panicked) => Poll::Ready(Err(panicked)),
    });
    polled.await
}

/// Returns what the code returns, or [`Panicked`].
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        discard(payload);
        Panicked
    })
}

/// Drops a panic's payload, whose drop may panic in turn; that second payload is leaked rather than
/// dropped as well.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
