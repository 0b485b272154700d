//! Reads the lines that a server writes.

use std::{io, mem};

use rmcp::RoleClient;

use super::{answer::messages, message::Message, pending::Pending};
use crate::pipe::{LineReader, Read};

/// What was read of an object over several lines. A message is one line, but some servers indent
/// theirs.
pub(super) struct Output {
    /// The object from a line with nothing but `{` on, until a line with nothing but `}`.
    object: Option<Vec<u8>>,
    max_bytes: usize,
    pending: Pending,
    server: String,
}

impl Output {
    /// Reads objects of at most this many bytes.
    pub(super) fn new(server: &str, pending: &Pending, max_bytes: usize) -> Self {
        let pending = pending.clone();
        let server = server.to_owned();
        Self { object: None, max_bytes, pending, server }
    }

    fn messages(&mut self, line: &[u8]) -> Vec<Message> {
        let found = messages(line, &self.pending);
        if !found.is_empty() {
            self.object = None;
            return found;
        }
        match &mut self.object {
            None if line.trim_ascii_end() == b"{" => self.object = Some(line.to_owned()),
            None => {}
            Some(object) if object.len() + line.len() >= self.max_bytes => self.object = None,
            Some(object) => {
                object.push(b'\n');
                object.extend_from_slice(line);
                if line.trim_ascii_end() == b"}" {
                    return messages(
                        &mem::take(&mut self.object).unwrap_or_default(),
                        &self.pending,
                    );
                }
            }
        }
        Vec::new()
    }
}

impl LineReader<RoleClient> for Output {
    fn peer(&self) -> &str {
        &self.server
    }

    fn read(&mut self, line: &[u8]) -> Vec<Read<RoleClient>> {
        self.messages(line).into_iter().map(Ok).collect()
    }

    fn too_long(&mut self, _: &[u8]) -> io::Result<Vec<Read<RoleClient>>> {
        let what = format!("a message has more than {} bytes", self.max_bytes);
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    /// Reads these lines while the request 3 waits, and counts the messages.
    fn read(output: &str, max_bytes: usize) -> usize {
        let pending = Pending::calls([RequestId::Number(3)]);
        let mut lines = Output::new("gh", &pending, max_bytes);
        output.split('\n').map(|line| lines.messages(line.as_bytes()).len()).sum()
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
            assert_eq!(read(&output, 99), count, "{output}");
        }
    }

    #[test]
    fn an_object_above_the_bound_is_not_kept() {
        let mut lines = Output::new("gh", &Pending::default(), 99);
        for _ in 0..99 {
            lines.messages(b"{");
            let kept = lines.object.as_ref().map_or(0, Vec::len);
            assert!(kept <= 99, "{kept}");
        }
    }
}
