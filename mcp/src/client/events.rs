//! Cuts the body of an answer into events, by the standard of server-sent events.

use std::{collections::VecDeque, mem};

use sse_stream::Sse;

/// What was read of a body and belongs to no event that has ended. Lines that the standard does not
/// know are left out, and bytes that are not text become U+FFFD.
pub(super) struct Events {
    line: Vec<u8>,
    event: Sse,
    /// The bytes of the event so far.
    bytes: usize,
    max_bytes: usize,
    has_begun: bool,
    /// Whether the last line ended with a carriage return. A line feed directly after it then ends
    /// no line.
    is_after_return: bool,
}

/// An event has more bytes than are allowed. Nothing of it is kept.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("an event has more than {0} bytes")]
pub(super) struct EventTooLong(usize);

impl Events {
    pub(super) fn new(max_bytes: usize) -> Self {
        let line = Vec::new();
        let event = Sse::default();
        Self { line, event, bytes: 0, max_bytes, has_begun: false, is_after_return: false }
    }

    /// Takes bytes, and adds the events that they end to `ended`.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        ended: &mut VecDeque<Sse>,
    ) -> Result<(), EventTooLong> {
        while let Some(first) = bytes.first() {
            if mem::take(&mut self.is_after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, behind) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.bytes += part.len() + usize::from(end.is_some());
            if self.bytes > self.max_bytes {
                (self.line, self.event) = (Vec::new(), Sse::default());
                return Err(EventTooLong(self.max_bytes));
            }
            self.line.extend_from_slice(part);
            bytes = behind;
            if let Some((ending, behind)) = behind.split_first() {
                self.is_after_return = *ending == b'\r';
                bytes = behind;
                self.end_line(ended);
            }
        }
        Ok(())
    }

    /// Adds the event that the end of the body cuts off. The event's message shows whether it is
    /// whole.
    pub(super) fn end(&mut self, ended: &mut VecDeque<Sse>) {
        self.end_line(ended);
        self.end_line(ended);
    }

    fn end_line(&mut self, ended: &mut VecDeque<Sse>) {
        let line = mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let is_first = !mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix('\u{feff}').filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            self.bytes = 0;
            let event = mem::take(&mut self.event);
            ended.extend(Some(event).filter(|event| *event != Sse::default()));
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.event = Some(value.to_owned()),
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.event.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok().or(self.event.retry),
            // A comment, which some servers send for ever, or a field that the standard does not
            // know.
            _ => self.bytes = self.bytes.saturating_sub(line.len() + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body in pieces of this size.
    fn read(body: &[u8], size: usize, max_bytes: usize) -> Result<Vec<Sse>, EventTooLong> {
        let mut events = Events::new(max_bytes);
        let mut ended = VecDeque::new();
        for piece in body.chunks(size) {
            events.take(piece, &mut ended)?;
        }
        events.end(&mut ended);
        Ok(ended.into())
    }

    fn data(text: &str) -> Sse {
        Sse::default().data(text)
    }

    #[test]
    fn a_body_is_cut_into_events_wherever_its_pieces_end() {
        let table: [(&[u8], Vec<Sse>); 7] = [
            (b"data: a\n\ndata:b\n\n", vec![data("a"), data("b")]),
            (b"\xef\xbb\xbfdata: a\r\ndata:  b\r\n\r\n\r\n", vec![data("a\n b")]),
            (b"data: a\r\rdata: b\r\r", vec![data("a"), data("b")]),
            (
                b": ping\n\nodd\nodder: x\nid: 1\nretry: 7\nretry: x\ndata\n\n",
                vec![data("").id("1").retry(7)],
            ),
            (
                b"event: message\ndata: caf\xe9\nid: a\0b\n\n",
                vec![data("caf\u{fffd}").event("message")],
            ),
            (b"data: a\n\ndata: b", vec![data("a"), data("b")]),
            (b"data: a\n\ndata: \xec\x95\x88\xeb\x85\x95\n", vec![data("a"), data("안녕")]),
        ];
        for (body, expected) in table {
            for size in [1, 2, 3, body.len()] {
                assert_eq!(read(body, size, 99).as_ref(), Ok(&expected), "{size} {body:?}");
            }
        }
    }

    #[test]
    fn an_event_above_the_bound_is_not_kept_and_comments_do_not_count() {
        assert_eq!(read(&b": ping\n".repeat(99), 5, 20).unwrap(), []);
        assert_eq!(read(b"data: 23456789\n\ndata: 23456789\n\n", 5, 20).unwrap().len(), 2);
        for body in
            [&b"data: a\n".repeat(9)[..], b"data: 2345678901234567890", &b"data:\n".repeat(9)]
        {
            assert_eq!(read(body, 5, 20), Err(EventTooLong(20)), "{body:?}");
        }
    }
}
