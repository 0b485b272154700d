//! Cuts the bytes of a stream into frames: the data of server-sent events, or lines of JSON. A frame has a bound, because
//! a server may never end one.

/// The bytes of the longest frame: the longest arguments of a call, written as text in JSON, with room beside them.
const MAX_FRAME: usize = 8 * 1024 * 1024;

/// A frame is longer than its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame takes more than {MAX_FRAME} bytes")]
pub(super) struct FrameTooLong;

/// How frames are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events: the lines of one event's data, joined.
    Events,
    /// A frame a line.
    Lines,
}

/// Collects bytes until they are frames.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl Frames {
    pub(super) const fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), data: Vec::new(), has_data: false }
    }

    /// Takes bytes, and gives the frames that end in them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, FrameTooLong> {
        let mut frames = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > MAX_FRAME {
                return Err(FrameTooLong);
            }
            if lines.peek().is_some() {
                frames.extend(self.line_ended());
            }
        }
        Ok(frames)
    }

    /// Gives the frame that the end of the stream ends.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        let frame = if self.line.is_empty() { None } else { self.line_ended() };
        frame.or_else(|| self.has_data.then_some(self.data))
    }

    fn line_ended(&mut self) -> Option<Vec<u8>> {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        match self.framing {
            Framing::Lines => (!line.is_empty()).then_some(line),
            Framing::Events if line.is_empty() => {
                let has_data = std::mem::take(&mut self.has_data);
                let data = std::mem::take(&mut self.data);
                has_data.then_some(data)
            }
            Framing::Events => {
                if let Some(data) = line.strip_prefix(b"data:") {
                    if std::mem::replace(&mut self.has_data, true) {
                        self.data.push(b'\n');
                    }
                    self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
                }
                None // names, ids and comments
            }
        }
    }
}
