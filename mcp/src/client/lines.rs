//! Cuts the output of a server into messages. Pure.

use std::{io, mem};

use super::{answer::messages, message::Message, pending::Pending};

/// What was read of a line and of an object over several lines. A message is a line; but some servers indent theirs.
pub(super) struct OutputLines {
    line: Vec<u8>,
    /// The object that a line with nothing but `{` began, until a line with nothing but `}`.
    object: Option<Vec<u8>>,
    max_bytes: usize,
}

impl OutputLines {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { line: Vec::new(), object: None, max_bytes }
    }

    /// Takes bytes up to the end of a line. Returns how many, and the messages of the line if it has ended. A line that is
    /// longer than any message may be is an error, and nothing is kept of it.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        pending: &Pending,
    ) -> io::Result<(usize, Vec<Message>)> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if self.line.len() + part.len() > self.max_bytes {
            self.line = Vec::new();
            let what = format!("a message has more than {} bytes", self.max_bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.line.extend_from_slice(part);
        Ok(match end {
            Some(end) => (end + 1, self.end(pending)),
            None => (part.len(), Vec::new()),
        })
    }

    /// Ends a line, by its break or by the end of all.
    pub(super) fn end(&mut self, pending: &Pending) -> Vec<Message> {
        let line = mem::take(&mut self.line);
        let found = messages(&line, pending);
        if !found.is_empty() {
            self.object = None;
            return found;
        }
        match &mut self.object {
            None if line.trim_ascii_end() == b"{" => self.object = Some(line),
            None => {}
            Some(object) if object.len() + line.len() >= self.max_bytes => self.object = None,
            Some(object) => {
                object.push(b'\n');
                object.extend_from_slice(&line);
                if line.trim_ascii_end() == b"}" {
                    return messages(&self.object.take().unwrap_or_default(), pending);
                }
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    /// Reads all in pieces of this size, where the request 3 waits, and counts the messages.
    fn read(output: &[u8], size: usize, max_bytes: usize) -> io::Result<usize> {
        let (mut lines, pending, mut count) = (OutputLines::new(max_bytes), Pending::default(), 0);
        pending.ask(RequestId::Number(3));
        for mut piece in output.chunks(size) {
            while !piece.is_empty() {
                let (taken, found) = lines.take(piece, &pending)?;
                (piece, count) = (&piece[taken..], count + found.len());
            }
        }
        Ok(count + lines.end(&pending).len())
    }

    #[test]
    fn a_message_is_a_line_or_an_object_over_several() {
        let answer = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        let spread = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": 3,\n  \"result\": {\n  }\n}\r\n";
        let cut = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 3,\n  \"result\": {\n    \"a\n}\n";
        let request = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 3,\n  \"method\": \"tools/call\",\n  \"params\": {{\n}\n";
        let table = [
            (answer.to_owned(), 1),
            (format!("\n{answer}\n\r\n{answer}\r\n"), 2),
            (format!("{{\n noise \n{answer}\n}}\n"), 1),
            (spread.repeat(2), 2),
            (format!("}}\n{{ \n}}\n{cut}{spread}"), 2),
            (format!("{request}{answer}"), 1),
        ];
        for (output, count) in table {
            for size in [1, 2, 7, output.len()] {
                assert_eq!(read(output.as_bytes(), size, 99).unwrap(), count, "{size} {output}");
            }
        }
    }

    #[test]
    fn a_line_or_object_above_the_bound_is_not_kept() {
        assert_eq!(read(b"abc\nabc\n\nab", 3, 3).unwrap(), 0);
        assert_eq!(read(b"abc\nabcd", 3, 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(read(&vec![b'x'; 1 << 20], 4096, 1 << 16).is_err());
        let mut lines = OutputLines::new(99);
        for _ in 0..99 {
            lines.take(b"{\n", &Pending::default()).unwrap();
            let kept = lines.object.as_ref().map_or(0, Vec::len);
            assert!(kept <= 99, "{kept}");
        }
    }
}
