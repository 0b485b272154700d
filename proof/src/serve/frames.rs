//! Reads Server-Sent Events out of the pieces of a body.

/// A frame with data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EventFrame {
    /// The cursor behind the event, where the frame has one.
    pub(super) id: Option<String>,
    /// The type.
    pub(super) event: String,
    /// One JSON object.
    pub(super) data: String,
}

/// Collects pieces until they make a frame.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: Vec<u8>,
}

impl FrameReader {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// Takes the next whole frame with data. Comments and times to come back are skipped.
    pub(super) fn next(&mut self) -> Option<EventFrame> {
        loop {
            let end = self.bytes.windows(2).position(|two| two == b"\n\n")?;
            let bytes: Vec<u8> = self.bytes.drain(..end + 2).collect();
            let frame = parse(&String::from_utf8_lossy(&bytes));
            if !frame.data.is_empty() {
                return Some(frame);
            }
        }
    }
}

fn parse(text: &str) -> EventFrame {
    let mut frame = EventFrame::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        match name {
            "id" => frame.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut frame.event),
            "data" => value.clone_into(&mut frame.data),
            _ => {}
        }
    }
    frame
}
