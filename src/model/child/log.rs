//! Reads a child's standard error as lines of bounded length, each with its own level.

use tracing::Level;

/// Joins pieces into lines, and remembers the last line.
#[derive(Debug, Default)]
pub(super) struct Log {
    line: Vec<u8>,
    is_too_long: bool,
    last: Option<String>,
}

/// The longest line; the rest is cut.
const MAX_LINE_BYTES: usize = 4_096;

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) level: Level,
    pub(super) text: String,
}

impl Log {
    /// Adds bytes that were read, and returns the lines that they complete.
    pub(super) fn push(&mut self, read: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                Some(_) | None => (piece, false),
            };
            let room = MAX_LINE_BYTES - self.line.len();
            self.is_too_long |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if is_whole {
                lines.extend(self.end_line());
            }
        }
        lines
    }

    /// Ends an incomplete line at the end of the pipe.
    pub(super) fn end_line(&mut self) -> Option<Line> {
        let mut text = String::from_utf8_lossy(&self.line).trim_end().to_owned();
        self.line.clear();
        if std::mem::take(&mut self.is_too_long) {
            text.push_str(" ..");
        }
        if text.trim().is_empty() {
            return None;
        }
        self.last = Some(text.clone());
        Some(Line { level: level(&text), text })
    }

    /// Returns the last complete line.
    pub(super) fn last_words(self) -> Option<String> {
        self.last
    }
}

/// Finds the level at which a line begins, as `tracing` writes it. A line without one comes from an
/// assertion or a panic.
fn level(line: &str) -> Level {
    let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
    // A time may come before the level.
    let said = line
        .split_whitespace()
        .take(2)
        .find_map(|word| levels.into_iter().find(|level| level.as_str() == word));
    said.unwrap_or(Level::WARN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str]) -> Vec<(Level, String)> {
        let mut log = Log::default();
        let mut lines: Vec<_> =
            pieces.iter().flat_map(|piece| log.push(piece.as_bytes())).collect();
        lines.extend(log.end_line());
        lines.into_iter().map(|Line { level, text }| (level, text)).collect()
    }

    #[test]
    fn lines_have_the_level_that_they_say() {
        let heard =
            lines(&[" INFO llama: lo", "aded\n\n", "DEBUG llama: 1\nggml.c:1: GGML_ASSERT(a)"]);
        let text = |text: &str| text.to_owned();
        assert_eq!(
            heard,
            [
                (Level::INFO, text(" INFO llama: loaded")),
                (Level::DEBUG, text("DEBUG llama: 1")),
                (Level::WARN, text("ggml.c:1: GGML_ASSERT(a)")),
            ]
        );
    }

    #[test]
    fn a_line_without_end_takes_no_more_than_its_bound() {
        let long = "a".repeat(MAX_LINE_BYTES);
        let heard = lines(&[&long, &long, "\nb\n"]);
        assert_eq!(heard[0].1.len(), MAX_LINE_BYTES + 3);
        assert_eq!(heard[1].1, "b");
    }

    #[test]
    fn the_last_words_are_the_last_line() {
        let mut log = Log::default();
        assert_eq!(log.push(b"one\ntwo\n").len(), 2);
        assert_eq!(log.last_words().as_deref(), Some("two"));
    }
}
