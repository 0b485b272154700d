//! Reads and writes frames on a pipe: a length in four bytes, little-endian, then JSON of that
//! length.

use serde::{Serialize, de::DeserializeOwned};

/// The longest JSON of a frame: a chat of some million tokens. A larger number cannot be a length.
pub(super) const MAX_BYTES: usize = 64 << 20;

const HEAD: usize = 4;

/// The reason why bytes are not a frame, or a message does not fit into one.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame of {bytes} bytes, where {MAX_BYTES} are the most")]
    TooLong { bytes: usize },
    #[error("a frame that is not a message")]
    NoMessage(#[source] serde_json::Error),
}

/// Writes a message as a frame.
pub(super) fn frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; HEAD];
    serde_json::to_writer(&mut bytes, message).map_err(FrameError::NoMessage)?;
    let length = bytes.len() - HEAD;
    let head = u32::try_from(length).ok().filter(|_| length <= MAX_BYTES);
    let head = head.ok_or(FrameError::TooLong { bytes: length })?;
    bytes[..HEAD].copy_from_slice(&head.to_le_bytes());
    Ok(bytes)
}

/// Reads messages from the bytes of a pipe, however they are split.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// The bytes that were already returned as messages.
    taken: usize,
}

impl Frames {
    /// Adds bytes that were read.
    pub(super) fn push(&mut self, read: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(read);
    }

    /// Returns the next complete message. After an error nothing more can be read.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let bytes = &self.bytes[self.taken..];
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        if length > MAX_BYTES {
            return Err(FrameError::TooLong { bytes: length });
        }
        let Some(json) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(json).map_err(FrameError::NoMessage)?;
        self.taken += HEAD + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(frames: &mut Frames) -> Vec<String> {
        std::iter::from_fn(|| frames.next().unwrap()).collect()
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_the_bytes_are_cut() {
        let said = ["", "a", "안녕하세요", "\u{0}\n\"", &"long ".repeat(1_000)];
        let bytes: Vec<u8> = said.iter().flat_map(|text| frame(text).unwrap()).collect();
        for size in [1, 2, 3, 7, 64, bytes.len()] {
            let mut frames = Frames::default();
            let mut heard = Vec::new();
            for piece in bytes.chunks(size) {
                frames.push(piece);
                heard.extend(read(&mut frames));
            }
            assert_eq!(heard, said, "in pieces of {size}");
        }
    }

    #[test]
    fn half_a_frame_is_no_message_yet() {
        let bytes = frame(&"hello").unwrap();
        for cut in 0..bytes.len() {
            let mut frames = Frames::default();
            frames.push(&bytes[..cut]);
            assert_eq!(read(&mut frames), [""; 0], "{cut} bytes");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_and_reserves_no_memory() {
        for (garbage, complaint) in [
            (
                &b"GGML_ASSERT failed"[..],
                "a frame of 1280132935 bytes, where 67108864 are the most",
            ),
            (b"\x02\0\0\0no", "a frame that is not a message"),
            (b"\x03\0\0\0\"\xff\"", "a frame that is not a message"),
        ] {
            let mut frames = Frames::default();
            frames.push(garbage);
            assert_eq!(frames.next::<String>().unwrap_err().to_string(), complaint);
        }
    }
}
