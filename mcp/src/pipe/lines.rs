//! Cuts bytes into lines of a bounded length.

use std::mem;

/// What was read of a line that has not ended.
pub(super) struct LineCutter {
    line: Vec<u8>,
    max_bytes: usize,
    /// Whether the line had too many bytes. The rest of it is then passed over.
    is_too_long: bool,
}

/// A line, or what was read of one that is longer than is allowed.
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong(Vec<u8>),
}

impl LineCutter {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { line: Vec::new(), max_bytes, is_too_long: false }
    }

    /// Takes bytes up to the end of a line. Returns how many it took, and the line if it ends there
    /// or has too many bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Line>) {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let taken = part.len() + usize::from(end.is_some());
        if self.is_too_long {
            self.is_too_long = end.is_none();
            return (taken, None);
        }
        if self.line.len() + part.len() > self.max_bytes {
            self.is_too_long = end.is_none();
            return (taken, Some(Line::TooLong(mem::take(&mut self.line))));
        }
        self.line.extend_from_slice(part);
        (taken, end.map(|_| self.end()))
    }

    /// Ends a line, at its break or at the end of the input.
    pub(super) fn end(&mut self) -> Line {
        Line::Whole(mem::take(&mut self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all in pieces of this size, and marks the lines that were too long.
    fn read(text: &str, size: usize, max_bytes: usize) -> String {
        let mut lines = LineCutter::new(max_bytes);
        let mut read = Vec::new();
        for mut piece in text.as_bytes().chunks(size) {
            while !piece.is_empty() {
                let (taken, line) = lines.take(piece);
                assert!(lines.line.len() <= max_bytes);
                read.extend(line);
                piece = &piece[taken..];
            }
        }
        read.push(lines.end());
        let read = read.into_iter().map(|line| match line {
            Line::Whole(line) => String::from_utf8(line).unwrap(),
            Line::TooLong(_) => "!".to_owned(),
        });
        read.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_the_next_one_counts() {
        for size in 1..9 {
            assert_eq!(read("abc\nabcd\n\nab", size, 3), "abc|!||ab", "{size}");
            assert_eq!(read("abcdefgh\nabc\nabcdefgh", size, 3), "!|abc|!|", "{size}");
        }
    }
}
