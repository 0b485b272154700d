//! Streams the text and the thinking of the model to a client. Each begins, grows and ends.

use crate::{
    metrics,
    stream::frame::Frames,
    surface::spoken::{Lack, Spoken},
};

/// What the model writes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Text,
    Thinking,
}

/// The frames that a protocol has for a part.
pub(crate) trait PartFrames {
    /// Writes the beginning of a part with this id.
    fn begin(&self, part: Part, id: &str, out: &mut Frames);
    /// Writes a piece of a part.
    fn delta(&self, part: Part, id: &str, delta: &str, out: &mut Frames);
    /// Writes the end of a part.
    fn end(&self, part: Part, id: &str, out: &mut Frames);
}

/// The parts that are open in a stream, and the streamed text of the message that is not stored
/// yet.
#[derive(Debug)]
pub(crate) struct Speech<F> {
    surface: &'static str,
    frames: F,
    spoken: Spoken,
    /// The ids of the open parts.
    text: Option<String>,
    thinking: Option<String>,
}

impl<F: PartFrames> Speech<F> {
    /// Begins with nothing open.
    pub(crate) fn new(surface: &'static str, frames: F) -> Self {
        Self { surface, frames, spoken: Spoken::default(), text: None, thinking: None }
    }

    /// Returns the id of a part, or `None` if it is not open.
    pub(crate) fn id(&self, part: Part) -> Option<&str> {
        match part {
            Part::Text => self.text.as_deref(),
            Part::Thinking => self.thinking.as_deref(),
        }
    }

    /// Takes a piece of text before it is written. The piece begins after this many bytes of its
    /// message. Returns whether it begins the message anew. The part that is open then ends.
    pub(crate) fn hear(&mut self, at: usize, text: &str, out: &mut Frames) -> bool {
        self.end(Part::Thinking, out);
        let begins_anew = self.spoken.hear(at, text);
        if begins_anew {
            self.end(Part::Text, out);
        }
        begins_anew
    }

    /// Compares the stored message with what was streamed of it, and forgets the latter.
    pub(crate) fn compare<'m>(&mut self, message: &'m str, out: &mut Frames) -> Lack<'m> {
        self.end(Part::Thinking, out);
        let lack = self.spoken.end(message);
        if lack == Lack::Rewritten {
            metrics::rewritten(self.surface);
        }
        lack
    }

    /// Begins a part.
    pub(crate) fn begin(&mut self, part: Part, id: String, out: &mut Frames) {
        self.frames.begin(part, &id, out);
        *self.open(part) = Some(id);
    }

    /// Writes a piece of a part that has begun.
    pub(crate) fn delta(&self, part: Part, delta: &str, out: &mut Frames) {
        if let Some(id) = self.id(part) {
            self.frames.delta(part, id, delta, out);
        }
    }

    /// Ends a part, if it is open.
    pub(crate) fn end(&mut self, part: Part, out: &mut Frames) {
        if let Some(id) = self.open(part).take() {
            self.frames.end(part, &id, out);
        }
    }

    /// Ends all parts that are open.
    pub(crate) fn end_all(&mut self, out: &mut Frames) {
        self.end(Part::Thinking, out);
        self.end(Part::Text, out);
    }

    fn open(&mut self, part: Part) -> &mut Option<String> {
        match part {
            Part::Text => &mut self.text,
            Part::Thinking => &mut self.thinking,
        }
    }
}
