//! Reads a server's output, and ends where a line is longer than any message may be.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// A reader whose lines are bounded: a longer one is an error, so the connection ends and nothing is kept of it.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    reader: R,
    max_bytes: usize,
    /// Bytes since the last line break.
    in_line: usize,
}

impl<R> BoundedLines<R> {
    pub(super) const fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader, max_bytes, in_line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
        let mut in_line = self.in_line;
        let mut longest = 0;
        for byte in &buffer.filled()[before..] {
            in_line = if *byte == b'\n' { 0 } else { in_line + 1 };
            longest = longest.max(in_line);
        }
        self.in_line = in_line;
        if longest > self.max_bytes {
            // An error comes without bytes.
            buffer.set_filled(before);
            let what = format!("a message has more than {} bytes", self.max_bytes);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(input: &[u8], max_bytes: usize) -> io::Result<usize> {
        let mut read = Vec::new();
        BoundedLines::new(input, max_bytes).read_to_end(&mut read).await
    }

    #[tokio::test]
    async fn lines_up_to_the_bound_pass_and_a_longer_one_ends_the_input() {
        assert_eq!(read(b"abc\nabc\n\nab", 3).await.unwrap(), 11);
        assert_eq!(read(b"abc\nabcd", 3).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(read(&vec![b'x'; 1 << 20], 1 << 16).await.is_err());
    }
}
