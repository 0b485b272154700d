//! Code whose panic is a value: a future, or a function.

use std::{
    any::Any,
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use crate::port::BoxFuture;

/// Tells that the code panicked; the message of the panic is dropped.
#[derive(Debug)]
pub(super) struct Panicked;

/// Gives what the future gives, or [`Panicked`].
pub(super) struct Unwind<'a, T>(Option<BoxFuture<'a, T>>);

impl<'a, T> Unwind<'a, T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<T> Future for Unwind<'_, T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(mut future) = self.0.take() else { return Poll::Ready(Err(Panicked)) };
        // The future's remains are dropped unseen; a mutex that it held is poisoned.
        let polled = caught(|| match future.as_mut().poll(cx) {
            Poll::Ready(value) => {
                drop(future);
                Poll::Ready(value)
            }
            Poll::Pending => {
                self.0 = Some(future);
                Poll::Pending
            }
        });
        match polled {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(Panicked) => Poll::Ready(Err(Panicked)),
        }
    }
}

/// Gives what the code gives, or [`Panicked`].
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        discard(payload);
        Panicked
    })
}

/// Drops a panic's payload, whose drop may panic in turn; that second payload is leaked rather than dropped as well.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
