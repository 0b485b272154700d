//! Cuts the bytes of a stream into frames: server-sent events as their standard defines them, or
//! lines of JSON. A frame has a bound, because a server may never end one.
//!
//! No crate is used, because those that read events bound neither a line nor an event. One of them
//! also fails on a field without a colon.

/// The bytes of the longest frame: the longest arguments of a call, written as text in JSON, and
/// some room for the rest.
pub(super) const MAX_FRAME: usize = 8 * 1024 * 1024;

/// A frame is longer than its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame takes more than {MAX_FRAME} bytes")]
pub(super) struct FrameTooLong;

/// How frames are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events: the lines of one event's data, joined.
    Events,
    /// Each line is a frame.
    Lines,
}

/// A frame of a stream. Frames without data only keep the connection alive, and are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) data: Vec<u8>,
    /// The server names it an error.
    pub(super) is_error: bool,
}

/// Collects bytes until they are frames.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    frame: Frame,
    has_data: bool,
    /// The last line ended with a carriage return, so a line feed after it ends no other line.
    skips_feed: bool,
}

impl Frames {
    pub(super) const fn new(framing: Framing) -> Self {
        let frame = Frame { data: Vec::new(), is_error: false };
        Self { framing, line: Vec::new(), frame, has_data: false, skips_feed: false }
    }

    /// Reads bytes, and returns the frames that end in them.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Frame>, FrameTooLong> {
        let mut frames = Vec::new();
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.skips_feed) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.frame.data.len() > MAX_FRAME {
                return Err(FrameTooLong);
            }
            let Some(end) = end else { break };
            self.skips_feed = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            frames.extend(self.line_ended());
        }
        Ok(frames)
    }

    /// Returns the frame that the end of the stream completes. The standard drops it, but servers
    /// leave out the last empty line.
    pub(super) fn finish(mut self) -> Option<Frame> {
        let frame = if self.line.is_empty() { None } else { self.line_ended() };
        frame.or_else(|| self.event_ended())
    }

    fn line_ended(&mut self) -> Option<Frame> {
        let line = std::mem::take(&mut self.line);
        match self.framing {
            Framing::Lines => {
                let frame = Frame { data: line, is_error: false };
                (!frame.data.trim_ascii().is_empty()).then_some(frame)
            }
            Framing::Events if line.is_empty() => self.event_ended(),
            Framing::Events => {
                self.field(&line);
                None
            }
        }
    }

    fn event_ended(&mut self) -> Option<Frame> {
        let frame = std::mem::take(&mut self.frame);
        let has_data = std::mem::take(&mut self.has_data);
        (has_data && !frame.data.trim_ascii().is_empty()).then_some(frame)
    }

    /// Takes a line of an event. A line without a colon is a field without a value; ids and times
    /// are nothing to us.
    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.frame.is_error = value == b"error",
            // Older servers of llama.cpp name the field of an error so, and send no data.
            b"data" | b"error" => {
                self.frame.is_error |= name == b"error";
                if std::mem::replace(&mut self.has_data, true) {
                    self.frame.data.push(b'\n');
                }
                self.frame.data.extend_from_slice(value);
            }
            _ => {}
        }
    }
}
