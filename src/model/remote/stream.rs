//! The stream of one answer: bytes come in, the answer grows, and the stream ends well or not.

use super::{
    answer::{Answer, Broken},
    anthropic::AnthropicReader,
    frames::{Frames, Framing},
    gemini::GeminiReader,
    ollama::OllamaReader,
    openai::OpenAiReader,
    provider::Provider,
    reader::Reader,
};

/// A stream that is read.
pub(super) struct Stream {
    frames: Frames,
    reader: Box<dyn Reader>,
    is_over: bool,
}

impl Stream {
    pub(super) fn new(provider: Provider) -> Self {
        let (framing, reader): (_, Box<dyn Reader>) = match provider {
            Provider::OpenAi => (Framing::Events, Box::new(OpenAiReader)),
            Provider::Anthropic => (Framing::Events, Box::new(AnthropicReader::default())),
            Provider::Gemini => (Framing::Events, Box::new(GeminiReader)),
            Provider::Ollama => (Framing::Lines, Box::new(OllamaReader)),
        };
        Self { frames: Frames::new(framing), reader, is_over: false }
    }

    /// Takes bytes. What stands behind the last frame is left unread.
    pub(super) fn push(&mut self, bytes: &[u8], answer: &mut Answer) -> Result<(), Broken> {
        let frames = self.frames.push(bytes).map_err(|cause| Broken::bad(cause.to_string()))?;
        for frame in frames {
            if self.is_over || &*frame == b"[DONE]" {
                self.is_over = true;
                break;
            }
            let frame = serde_json::from_slice(&frame);
            let frame = frame.map_err(|cause| Broken::bad(cause.to_string()))?;
            self.reader.push(&frame, answer)?;
        }
        Ok(())
    }

    /// Tells whether the stream said that it is over.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the end of the bytes, and tells whether the answer had its end. A frame that the end cut off is none.
    pub(super) fn end(mut self, answer: &mut Answer) -> Result<bool, Broken> {
        let last = self.frames.finish().filter(|_| !self.is_over);
        if let Some(frame) = last.as_deref() {
            if frame == b"[DONE]" {
                self.is_over = true;
            } else if let Ok(frame) = serde_json::from_slice(frame) {
                self.reader.push(&frame, answer)?;
            }
        }
        if self.is_over {
            // Some servers give no other reason.
            answer.finish.get_or_insert_default();
        }
        Ok(answer.finish.is_some())
    }
}
