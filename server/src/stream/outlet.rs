//! A body that a future writes. It passes on a piece, and continues after the piece was taken.
//! Pieces that are not small count among the bytes of the body's user until they are sent.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::HttpBody;
use bytes::Bytes;
use http_body::Frame;
use madang::UserId;
use tokio::time::timeout;

use crate::byte_budget::{ByteBudget, BytePermit};

/// The way from the future to the body.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    slot: Arc<Mutex<Option<Bytes>>>,
    reader: OutletReader,
}

/// Whose bytes a body has, and how long it may wait for room for them.
#[derive(Debug, Clone)]
pub(crate) struct OutletReader {
    pub(crate) user: UserId,
    pub(crate) budget: ByteBudget,
    /// As long as a reader that does not read may stay. After that there is room again.
    pub(crate) patience: Duration,
}

/// Pieces up to this many bytes need no room. Each connection may have some of its own.
pub(crate) const SMALL: usize = 4 * 1024;

impl Outlet {
    /// Passes on a piece, and waits until the connection has room for another.
    ///
    /// # Errors
    /// Returns [`BrokenOff`] if other readers of this user do not read, and leave no room in time.
    pub(crate) async fn send(&self, piece: Bytes) -> Result<(), BrokenOff> {
        let room = self.room(piece.len()).await?;
        self.send_in(room, piece).await;
        Ok(())
    }

    /// Waits for room for this many bytes. Returns `None` if they are so few that they need none.
    ///
    /// # Errors
    /// Returns [`BrokenOff`] as [`send`](Self::send) does.
    pub(crate) async fn room(&self, bytes: usize) -> Result<Option<Arc<BytePermit>>, BrokenOff> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let OutletReader { user, budget, patience } = &self.reader;
        // This is boxed, as each wait for room is, because an idle stream would keep its size for
        // ever.
        Box::pin(timeout(*patience, budget.take(user, bytes)))
            .await
            .map(Some)
            .map_err(|_| BrokenOff)
    }

    /// Passes on a piece for which there is room already.
    pub(crate) async fn send_in(&self, room: Option<Arc<BytePermit>>, piece: Bytes) {
        let piece = match room {
            Some(room) => room.hold(piece),
            None => piece,
        };
        *self.slot() = Some(piece);
        // The body is polled again after its reader has taken the piece, so no waker is needed.
        poll_fn(|_| if self.slot().is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn slot(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.slot.lock().expect("no code under this lock panics")
    }
}

/// The body of a stream.
pub(crate) struct WrittenBody {
    writes: Option<Writes>,
    outlet: Outlet,
    /// How the future ended. It may end with a piece that was not taken yet.
    ended: Option<Result<(), BrokenOff>>,
    /// Whether the body breaks off after its connection has sent what it has taken.
    is_about_to_break: bool,
}

/// The future that writes a body.
type Writes = Pin<Box<dyn Future<Output = Result<(), BrokenOff>> + Send>>;

/// Breaks a body off without its final chunk, because its reader must not take it for complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream breaks off before its end")]
pub(crate) struct BrokenOff;

impl WrittenBody {
    /// Makes the body of what the future sends. Dropping the body drops the future.
    pub(crate) fn new<F>(reader: OutletReader, write: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = Result<(), BrokenOff>> + Send + 'static,
    {
        let outlet = Outlet { slot: Arc::default(), reader };
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
                // A connection that learns of the break drops what it has taken and not sent. While
                // it waits, it sends.
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

    fn kim(max: usize) -> OutletReader {
        let user = UserId::new("kim").unwrap();
        let budget = ByteBudget::new(max, max);
        OutletReader { user, budget, patience: Duration::from_secs(30) }
    }

    /// Reads a body to its end: the pieces, and whether it was whole.
    async fn read(body: WrittenBody) -> (Vec<Bytes>, bool) {
        let mut body = Box::pin(body);
        let mut pieces = Vec::new();
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
            let body = WrittenBody::new(kim(1), |outlet| async move {
                tokio::select! {
                    biased;
                    _ = outlet.send("a".into()) => unreachable!("it waits until the piece is taken"),
                    () = std::future::ready(()) => end,
                }
            });
            assert_eq!(read(body).await, (vec!["a".into()], end.is_ok()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_each_piece_and_says_whether_it_is_whole() {
        for end in [Ok(()), Err(BrokenOff)] {
            let body = WrittenBody::new(kim(1), |outlet| async move {
                outlet.send("a".into()).await?;
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                outlet.send("b".into()).await?;
                end
            });
            assert_eq!(read(body).await, (vec!["a".into(), "b".into()], end.is_ok()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_while_its_user_has_too_many_bytes_and_breaks_off_if_none_are_read() {
        let reader = kim(10_000);
        let long = || Bytes::from(vec![b'x'; 6_000]);
        let body = || {
            WrittenBody::new(reader.clone(), |outlet| async move {
                outlet.send("small".into()).await?;
                outlet.send(long()).await
            })
        };
        let mut first = Box::pin(body());
        let mut next = async || {
            let frame = poll_fn(|context| first.as_mut().poll_frame(context)).await;
            frame.unwrap().unwrap().into_data().unwrap()
        };
        next().await;
        let unread = next().await;
        assert_eq!(read(body()).await, (vec!["small".into()], false), "the first is not read");
        drop(unread);
        assert_eq!(read(body()).await, (vec!["small".into(), long()], true));
    }
}
