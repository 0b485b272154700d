//! Reads standard input as lines in a thread of its own, with little memory for a line of any
//! length.

use std::{
    io::{self, BufRead, Read as _},
    thread,
};

use tokio::sync::mpsc;

/// The longest line that is kept: far more than a turn accepts, so that the runtime refuses long
/// texts.
const MAX_LINE_BYTES: usize = 4 << 20;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Text, without its line break.
    Text(String),
    /// The line with this number is not UTF-8.
    NotUtf8 { line: u64 },
    /// A line that is too long to keep, with its length.
    Endless { bytes: u64 },
}

/// Lines that are read on demand.
#[derive(Debug)]
pub(super) struct InputLines {
    read: mpsc::Receiver<io::Result<Line>>,
}

impl InputLines {
    /// Reads standard input. The thread ends with the input or the process.
    pub(super) fn of_stdin() -> io::Result<Self> {
        let (lines, read) = mpsc::channel(1);
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let mut reader = LineReader::new(io::stdin().lock());
            while let Some(line) = reader.next().transpose() {
                let is_broken = line.is_err();
                if lines.blocking_send(line).is_err() || is_broken {
                    return;
                }
            }
        })?;
        Ok(Self { read })
    }

    /// Returns the next line; `None` at the end. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        self.read.recv().await.transpose()
    }
}

/// Splits a stream of bytes into lines.
struct LineReader<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> LineReader<R> {
    const fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        let mut kept = Vec::new();
        let most = MAX_LINE_BYTES as u64;
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut kept)?;
        if read == 0 {
            return Ok(None);
        }
        // At the end of a terminal's input the next read would wait for more.
        let is_cut = read == MAX_LINE_BYTES && !kept.ends_with(b"\n");
        let bytes = if is_cut { read + self.input.skip_until(b'\n')? } else { read };
        self.line += 1;
        if bytes > kept.len() {
            return Ok(Some(Line::Endless { bytes: bytes as u64 }));
        }
        let line = self.line;
        Ok(Some(String::from_utf8(kept).map_or(Line::NotUtf8 { line }, |text| {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            Line::Text(text.strip_suffix('\r').unwrap_or(text).to_owned())
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut reader = LineReader::new(io::BufReader::with_capacity(3, input));
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    #[test]
    fn lines_are_cut_at_their_breaks_and_the_last_needs_none() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines("안녕\r\n\nlast".as_bytes()), [text("안녕"), text(""), text("last")]);
        assert_eq!(lines(b"a\n"), [text("a")]);
    }

    /// A terminal: its input ends where a person ends it, and continues after that.
    struct Terminal(std::collections::VecDeque<&'static [u8]>);

    impl io::Read for Terminal {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.pop_front().unwrap_or_default().read(into)
        }
    }

    #[test]
    fn a_last_line_without_a_break_is_not_held_back_until_the_input_ends_again() {
        let typed: [&[u8]; 3] = [b"first", b"", b"second\n"];
        let mut reader = LineReader::new(io::BufReader::new(Terminal(typed.into())));
        assert_eq!(reader.next().unwrap(), Some(text("first")));
        assert_eq!(reader.next().unwrap(), Some(text("second")));
    }

    #[test]
    fn a_line_that_is_no_text_is_named_and_the_next_is_read() {
        assert_eq!(lines(b"a\n\xff\xfe\nb"), [text("a"), Line::NotUtf8 { line: 2 }, text("b")]);
    }

    #[test]
    fn an_endless_line_is_counted_and_not_kept() {
        let mut input = vec![b'a'; MAX_LINE_BYTES + 7];
        input.extend_from_slice(b"\nb\n");
        let mut reader = LineReader::new(io::BufReader::new(&*input));
        assert_eq!(
            reader.next().unwrap(),
            Some(Line::Endless { bytes: MAX_LINE_BYTES as u64 + 8 })
        );
        assert_eq!(reader.next().unwrap(), Some(text("b")));
        assert_eq!(reader.next().unwrap(), None);
    }
}
