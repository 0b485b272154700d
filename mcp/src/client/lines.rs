//! Reads a server's output, and ends where a line is longer than any message may be.

use std::io;

use tokio::io::AsyncRead;

use crate::looked_at::LookedAt;

/// Bounds the lines of a reader: a longer one is an error, so the connection ends and nothing is kept of it.
pub(super) fn bounded_lines<R: AsyncRead + Unpin>(
    reader: R,
    max_bytes: usize,
) -> LookedAt<R, impl FnMut(io::Result<&[u8]>) -> io::Result<()> + Unpin> {
    let mut in_line = 0; // bytes since the last line break
    LookedAt::new(reader, move |read: io::Result<&[u8]>| {
        for byte in read? {
            in_line = if *byte == b'\n' { 0 } else { in_line + 1 };
            if in_line > max_bytes {
                let what = format!("a message has more than {max_bytes} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(input: &[u8], max_bytes: usize) -> io::Result<usize> {
        let mut read = Vec::new();
        bounded_lines(input, max_bytes).read_to_end(&mut read).await
    }

    #[tokio::test]
    async fn lines_up_to_the_bound_pass_and_a_longer_one_ends_the_input() {
        assert_eq!(read(b"abc\nabc\n\nab", 3).await.unwrap(), 11);
        assert_eq!(read(b"abc\nabcd", 3).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(read(&vec![b'x'; 1 << 20], 1 << 16).await.is_err());
    }
}
