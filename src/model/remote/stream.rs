//! The stream of one answer: bytes come in, the answer grows, and the stream ends well or not. An
//! answer that comes in one piece of JSON is read as well. A web page or a plain text is not an
//! answer.

use serde_json::Value;

use super::{
    answer::Answer,
    anthropic::AnthropicReader,
    broken::Broken,
    frames::{Frame, Frames, Framing, MAX_FRAME},
    gemini::GeminiReader,
    ollama::OllamaReader,
    openai::OpenAiReader,
    provider::Provider,
    quirks::{Quirk, Quirks},
    reader::Reader,
    refusal::ModelRefusal,
    think_tag::ThinkTag,
    words::Words,
};

/// The bytes that are kept of a response that is not an answer: more than a person sees of it.
const MAX_KEPT: usize = 4 * 1024;

/// A stream that is read.
pub(super) struct Stream {
    framing: Framing,
    shape: Shape,
    /// The first bytes, until a frame came. If none comes, they show what came instead.
    beginning: Vec<u8>,
    frames: Frames,
    reader: Box<dyn Reader>,
    is_over: bool,
}

/// What the first letter says of what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Unknown,
    Frames,
    /// JSON, which is read when all of it is there.
    Whole,
    /// A page.
    Page,
}

impl Stream {
    pub(super) fn new(provider: Provider, quirks: Quirks) -> Self {
        let think_tag = ThinkTag::opened_before(quirks.has(Quirk::OpenedThoughts));
        let (framing, reader): (_, Box<dyn Reader>) = match provider {
            Provider::OpenAi => (Framing::Events, Box::new(OpenAiReader::new(think_tag))),
            Provider::Anthropic => (Framing::Events, Box::new(AnthropicReader::default())),
            Provider::Gemini => (Framing::Events, Box::new(GeminiReader)),
            Provider::Ollama => (Framing::Lines, Box::new(OllamaReader { think_tag })),
        };
        let shape = Shape::Unknown;
        let beginning = Vec::new();
        Self { framing, shape, beginning, frames: Frames::new(framing), reader, is_over: false }
    }

    /// Reads bytes. What follows the last frame is not read.
    pub(super) fn push(&mut self, bytes: &[u8], answer: &mut Answer) -> Result<(), Broken> {
        let mut held = Vec::new();
        let mut bytes = bytes;
        if self.shape == Shape::Unknown {
            self.beginning.extend_from_slice(bytes);
            let Some(shape) = shape(&self.beginning, self.framing) else { return Ok(()) };
            self.shape = shape;
            held = std::mem::take(&mut self.beginning);
            bytes = held.strip_prefix(BOM).unwrap_or(&held);
        }
        if self.shape == Shape::Frames {
            return self.push_frames(bytes, answer);
        }
        self.beginning.extend_from_slice(bytes);
        drop(held);
        match self.shape {
            Shape::Page if self.beginning.len() >= MAX_KEPT => Err(self.no_answer()),
            Shape::Whole if self.beginning.len() > MAX_FRAME => {
                Err(Broken::bad(format!("an answer of more than {MAX_FRAME} bytes")))
            }
            Shape::Unknown | Shape::Frames | Shape::Whole | Shape::Page => Ok(()),
        }
    }

    fn push_frames(&mut self, bytes: &[u8], answer: &mut Answer) -> Result<(), Broken> {
        let room = MAX_KEPT.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let frames = self.frames.push(bytes).map_err(|cause| Broken::bad(cause.to_string()))?;
        for frame in frames {
            self.frame(&frame, answer)?;
            if self.is_over {
                break;
            }
        }
        Ok(())
    }

    /// Reads a frame. Servers that leave out the lines between events make several values one
    /// frame.
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<(), Broken> {
        let mut data = frame.data.trim_ascii();
        self.is_over = data == DONE;
        if !self.is_over
            && let Some(before) = data.strip_suffix(DONE).filter(|before| before.ends_with(b"\n"))
        {
            data = before;
            self.is_over = true;
        } else if self.is_over {
            return Ok(());
        }
        for value in serde_json::Deserializer::from_slice(data).into_iter::<Value>() {
            match value {
                Ok(_) if frame.is_error => {
                    let refusal =
                        serde_json::from_slice(data).map(|error| ModelRefusal::in_frame(&error));
                    return Err(refusal.map_or_else(|_| unreadable(frame), Broken::failed));
                }
                Ok(value) => self.reader.push(&value, answer)?,
                Err(_) => return Err(unreadable(frame)),
            }
        }
        Ok(())
    }

    /// Returns whether the stream said that it is over.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the end of the bytes. A frame that the end cut off is none.
    pub(super) fn end(mut self, answer: &mut Answer) -> Result<(), Broken> {
        match self.shape {
            Shape::Unknown => return Err(Broken::Unended),
            Shape::Page => return Err(self.no_answer()),
            Shape::Whole => self.end_of_whole(answer)?,
            Shape::Frames => {
                let last = std::mem::replace(&mut self.frames, Frames::new(self.framing)).finish();
                if let Some(frame) = last.filter(|_| !self.is_over) {
                    match self.frame(&frame, answer) {
                        Ok(()) => {}
                        Err(Broken::NoAnswer(_)) if !frame.is_error => return Err(Broken::Unended),
                        Err(broken) => return Err(broken),
                    }
                } else if !self.is_over && !answer.has_begun && !self.is_like_events() {
                    return Err(self.no_answer());
                }
            }
        }
        self.reader.end(answer)?;
        if self.is_over {
            // Some servers name no other reason.
            answer.finish.get_or_insert_default();
        }
        if answer.finish.is_none() {
            return Err(Broken::Unended);
        }
        answer.text_ends()
    }

    fn end_of_whole(&mut self, answer: &mut Answer) -> Result<(), Broken> {
        let value: Value = match serde_json::from_slice(&self.beginning) {
            Ok(value) => value,
            Err(cause) if cause.is_eof() => return Err(Broken::Unended),
            Err(_) => return Err(self.no_answer()),
        };
        let values = if let Value::Array(values) = value { values } else { vec![value] };
        for value in &values {
            self.reader.whole(value, answer)?;
        }
        if answer.finish.is_none() && !answer.has_begun {
            return Err(self.no_answer());
        }
        Ok(())
    }

    fn no_answer(&self) -> Broken {
        Broken::NoAnswer(Words::of(&self.beginning))
    }

    /// Returns whether the first line looks like one of an event.
    fn is_like_events(&self) -> bool {
        if self.framing == Framing::Lines {
            return true;
        }
        let line = self.beginning.split(|byte| matches!(byte, b'\n' | b'\r')).next();
        let line = line.unwrap_or_default();
        let fields: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
        match line.iter().position(|byte| *byte == b':') {
            Some(colon) => colon == 0 || fields.contains(&&line[..colon]),
            None => fields.iter().any(|field| field.starts_with(line)),
        }
    }
}

const BOM: &[u8] = "\u{feff}".as_bytes();
const DONE: &[u8] = b"[DONE]";

fn unreadable(frame: &Frame) -> Broken {
    if frame.is_error {
        return Broken::failed(ModelRefusal::in_text(&frame.data));
    }
    Broken::NoAnswer(Words::of(&frame.data[..frame.data.len().min(MAX_KEPT)]))
}

/// Finds the shape by the first letter after blanks. Returns `None` until it has come.
fn shape(bytes: &[u8], framing: Framing) -> Option<Shape> {
    if bytes.len() < BOM.len() && BOM.starts_with(bytes) {
        return None;
    }
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let first = *bytes.trim_ascii_start().first()?;
    Some(match (first, framing) {
        (b'<', _) => Shape::Page,
        (b'{' | b'[', Framing::Events) => Shape::Whole,
        _ => Shape::Frames,
    })
}
