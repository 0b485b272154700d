//! Wraps a reader, and looks at what it reads before it passes it on.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads, and calls `look` with each read. No bytes are the end. If `look` returns an error, it is
/// read in place of the bytes.
#[derive(Debug)]
pub(crate) struct LookedAt<R, F> {
    reader: R,
    look: F,
}

impl<R, F> LookedAt<R, F> {
    pub(crate) const fn new(reader: R, look: F) -> Self {
        Self { reader, look }
    }
}

impl<R, F> AsyncRead for LookedAt<R, F>
where
    R: AsyncRead + Unpin,
    F: FnMut(io::Result<&[u8]>) -> io::Result<()> + Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let has_room = buffer.remaining() > 0;
        let read = ready!(Pin::new(&mut self.reader).poll_read(context, buffer));
        if !has_room {
            return Poll::Ready(read);
        }
        let looked_at = (self.look)(read.map(|()| &buffer.filled()[before..]));
        if looked_at.is_err() {
            buffer.set_filled(before); // an error comes without bytes
        }
        Poll::Ready(looked_at)
    }
}
