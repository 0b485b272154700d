//! Writes frames of Server-Sent Events as bytes, with LF only and one JSON object in each frame.
//!
//! Readers of other protocols split at an empty line and do not know CR. JSON has no raw line
//! break, so each frame has one line of data.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Collects frames until the body takes them.
#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    /// Adds an event under the type in its data, with its cursor if it has one.
    pub(crate) fn event(&mut self, id: Option<&str>, data: &impl Serialize) {
        #[derive(Deserialize)]
        struct Typed<'a> {
            r#type: &'a str,
        }

        let data = serde_json::to_string(data).expect("a value of ours has text keys");
        let name = serde_json::from_str::<Typed>(&data).map_or("event", |typed| typed.r#type);
        if let Some(id) = id {
            self.line("id: ", id);
        }
        self.line("event: ", name);
        self.raw_data(&data);
    }

    /// Adds a frame that has only data.
    pub(crate) fn data(&mut self, data: &impl Serialize) {
        self.0.extend_from_slice(b"data: ");
        serde_json::to_writer(&mut self.0, data)
            .expect("a value of ours has text keys and writes into memory");
        self.0.extend_from_slice(b"\n\n");
    }

    /// Adds a frame whose data is this text, such as the mark that ends a protocol's stream.
    pub(crate) fn raw_data(&mut self, data: &str) {
        self.line("data: ", data);
        self.0.push(b'\n');
    }

    /// Adds a comment, which readers ignore but which keeps proxies from closing a quiet stream.
    pub(crate) fn comment(&mut self, text: &str) {
        self.line(": ", text);
        self.0.push(b'\n');
    }

    /// Writes the time after which the reader should reconnect if the stream breaks off.
    pub(crate) fn retry(&mut self, wait: Duration) {
        self.line("retry: ", &wait.as_millis().to_string());
        self.0.push(b'\n');
    }

    /// Returns whether there is nothing to send.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the collected bytes.
    pub(crate) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.0).into()
    }

    fn line(&mut self, field: &str, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']), "a field of a frame is one line");
        self.0.extend_from_slice(field.as_bytes());
        self.0.extend(text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
        self.0.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(frames: &mut Frames) -> String {
        String::from_utf8(frames.take().into()).unwrap()
    }

    #[test]
    fn a_frame_is_one_object_between_line_feeds() {
        let mut frames = Frames::default();
        frames.event(None, &json!({ "type": "text", "text": "두\r\n줄" }));
        frames.event(Some("17@5f.3"), &json!({ "type": "cleared" }));
        assert_eq!(
            text(&mut frames),
            "event: text\ndata: {\"type\":\"text\",\"text\":\"두\\r\\n줄\"}\n\n\
             id: 17@5f.3\nevent: cleared\ndata: {\"type\":\"cleared\"}\n\n"
        );
        assert!(frames.is_empty());
    }

    #[test]
    fn marks_comments_and_the_time_to_come_back_are_frames_of_their_own() {
        let mut frames = Frames::default();
        frames.raw_data("[DONE]");
        frames.comment("waiting for a person");
        frames.retry(Duration::from_millis(2_137));
        assert_eq!(text(&mut frames), "data: [DONE]\n\n: waiting for a person\n\nretry: 2137\n\n");
    }
}
