//! A body that a future writes: it hands a piece over, and goes on when the piece was taken.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
};

use axum::body::HttpBody;
use bytes::Bytes;
use http_body::Frame;

/// The way from the future to the body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outlet(Arc<Mutex<Option<Bytes>>>);

impl Outlet {
    /// Hands a piece over, and waits until the connection has room for another.
    pub(crate) async fn send(&self, piece: Bytes) {
        *self.slot() = Some(piece);
        // The body is polled again once its reader has taken the piece, so no waker is needed.
        poll_fn(|_| if self.slot().is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn slot(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

/// The body of a stream.
pub(crate) struct WrittenBody {
    writes: Option<Writes>,
    outlet: Outlet,
    /// How the future ended: it may end with a piece that was not taken yet.
    ended: Option<Result<(), BrokenOff>>,
    /// Whether the body breaks off as soon as its connection has sent what it has taken.
    is_about_to_break: bool,
}

/// The future that writes a body.
type Writes = Pin<Box<dyn Future<Output = Result<(), BrokenOff>> + Send>>;

/// Breaks a body off without its final chunk: its reader must not take it for complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream breaks off before its end")]
pub(crate) struct BrokenOff;

impl WrittenBody {
    /// Makes the body of what the future sends. Dropping the body drops the future.
    pub(crate) fn new<F>(write: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = Result<(), BrokenOff>> + Send + 'static,
    {
        let outlet = Outlet::default();
        let writes: Writes = Box::pin(write(outlet.clone()));
        Self { writes: Some(writes), outlet, ended: None, is_about_to_break: false }
    }
}

impl HttpBody for WrittenBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if std::mem::take(&mut self.is_about_to_break) {
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        if let Some(writes) = &mut self.writes
            && let Poll::Ready(ended) = writes.as_mut().poll(context)
        {
            (self.writes, self.ended) = (None, Some(ended));
        }
        if let Some(piece) = self.outlet.slot().take() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match self.ended {
            Some(Ok(())) => return Poll::Ready(None),
            Some(Err(BrokenOff)) => {
                // A connection drops what it has taken and not sent when it hears of the break. It sends while it waits.
                self.is_about_to_break = true;
                self.ended = Some(Ok(()));
                context.waker().wake_by_ref();
            }
            None => {}
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body to its end: the pieces, and whether it was whole.
    async fn read(body: WrittenBody) -> (Vec<Bytes>, bool) {
        let (mut body, mut pieces) = (Box::pin(body), Vec::new());
        loop {
            match poll_fn(|context| body.as_mut().poll_frame(context)).await {
                Some(Ok(frame)) => pieces.push(frame.into_data().unwrap()),
                Some(Err(BrokenOff)) => return (pieces, false),
                None => return (pieces, true),
            }
        }
    }

    #[tokio::test]
    async fn a_body_whose_future_ends_behind_a_piece_that_was_not_taken_has_that_piece() {
        for end in [Ok(()), Err(BrokenOff)] {
            let body = WrittenBody::new(|outlet| async move {
                tokio::select! {
                    biased;
                    () = outlet.send("a".into()) => unreachable!("it waits until the piece is taken"),
                    () = std::future::ready(()) => end,
                }
            });
            assert_eq!(read(body).await, (vec!["a".into()], end.is_ok()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_each_piece_and_says_whether_it_is_whole() {
        for end in [Ok(()), Err(BrokenOff)] {
            let body = WrittenBody::new(|outlet| async move {
                outlet.send("a".into()).await;
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                outlet.send("b".into()).await;
                end
            });
            assert_eq!(read(body).await, (vec!["a".into(), "b".into()], end.is_ok()));
        }
    }
}
