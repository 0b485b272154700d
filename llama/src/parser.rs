//! Separates text for the person, thinking and tool calls in a stream. Pure: the same result for every split of the
//! text.

use std::sync::Arc;

use madang_actors::protocol::{ToolSpec, WantedCall};

use super::{
    call::{Malformed, Scan, Seen, held},
    family::{Family, Opening},
};

/// A finding of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Text for the person.
    Text(String),
    /// The model thinking aloud.
    Thinking(String),
    /// A tool call, whole.
    Call(WantedCall),
    /// A block that was meant as a tool call and names no tool.
    Malformed,
}

/// The stream so far. Text is released as soon as it cannot begin a marker. Blank space at the beginning and the end of
/// the text is dropped.
#[derive(Debug, Clone)]
pub(super) struct Parser {
    family: &'static Family,
    /// Texts that end the answer.
    stops: &'static [&'static str],
    /// Whether an answer in the form of a call is a call.
    has_tools: bool,
    /// The tools by which arguments are read.
    tools: Arc<[ToolSpec]>,
    /// Whether a token opens calls, instead of a text like its name.
    opens_by_token: bool,
    state: State,
    /// Text that is not understood yet.
    rest: String,
    has_text: bool,
    is_stopped: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// Only blank space has come: an answer that is nothing but a call may begin here.
    Start,
    Text,
    Thinking,
    /// Inside a block of calls; `rest` is its unreleased part.
    Calls(Scan),
    /// Behind a block, before a possible closing marker.
    AfterCalls,
}

impl Parser {
    pub(super) fn new(family: &'static Family, stops: &'static [&'static str]) -> Self {
        Self {
            family,
            stops,
            has_tools: true,
            tools: Arc::new([]),
            opens_by_token: false,
            state: State::Start,
            rest: String::new(),
            has_text: false,
            is_stopped: false,
        }
    }

    /// Starts in thinking, which the prompt has opened.
    pub(super) fn thinking(mut self) -> Self {
        self.state = State::Thinking;
        self
    }

    /// Offers these tools. Without any an answer is text, since none may be called.
    pub(super) fn offering(self, tools: Arc<[ToolSpec]>) -> Self {
        Self { has_tools: !tools.is_empty(), tools, ..self }
    }

    /// Lets only [`open_call`](Self::open_call) open a call: the marker as text is text.
    pub(super) fn opened_by_token(mut self) -> Self {
        self.opens_by_token = true;
        self
    }

    /// Opens a call by its token. False inside of another call, in thinking, or without tools.
    pub(super) fn open_call(&mut self, found: &mut Vec<Found>) -> bool {
        let may_open = match self.state {
            State::Start | State::Text | State::AfterCalls => self.has_tools && !self.is_stopped,
            State::Thinking | State::Calls(_) => false,
        };
        if may_open {
            let text = std::mem::take(&mut self.rest);
            self.give_text(text.trim_end(), found);
            self.open();
        }
        may_open
    }

    /// Returns the unreleased text of the open block of calls.
    pub(super) fn open_block(&self) -> Option<&str> {
        matches!(self.state, State::Calls(_)).then_some(self.rest.as_str())
    }

    /// Tells whether a stop text has come, after which the stream does not matter.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Adds the next piece of the stream.
    pub(super) fn push(&mut self, piece: &str, found: &mut Vec<Found>) {
        if self.is_stopped {
            return;
        }
        self.rest.push_str(piece);
        while self.step(found) {}
    }

    /// Ends the stream. Reads an open call as far as it goes, unless the stream was cut off.
    pub(super) fn finish(&mut self, was_cut_off: bool, found: &mut Vec<Found>) {
        let rest = std::mem::take(&mut self.rest);
        match &self.state {
            State::Start | State::Text if !self.is_stopped => {
                self.give_text(rest.trim_end(), found)
            }
            State::Thinking => give_thinking(rest, found),
            State::Calls(scan) if !was_cut_off => {
                if self.family.form.has_begun(&rest) || !scan.has_calls() {
                    self.give_call(&rest, found);
                }
            }
            State::Start | State::Text | State::Calls(_) | State::AfterCalls => (),
        }
        self.state = State::Text;
    }

    /// Reads the next part of `rest`; false if more must come first.
    fn step(&mut self, found: &mut Vec<Found>) -> bool {
        match &mut self.state {
            State::Start => self.start(),
            State::Text => self.text(found),
            State::Thinking => self.think(found),
            State::Calls(scan) => {
                let Some(seen) = scan.look(&self.rest) else { return false };
                let (has_calls, is_single) = (scan.has_calls(), scan.is_single());
                match seen {
                    Seen::Call(end) => {
                        let call: String = self.rest.drain(..end).collect();
                        self.give_call(&call, found);
                        if is_single {
                            self.state = State::AfterCalls;
                        }
                    }
                    Seen::End(end) => {
                        self.rest.drain(..end);
                        if !has_calls {
                            found.push(Found::Malformed);
                        }
                        self.state = State::AfterCalls;
                    }
                }
                true
            }
            State::AfterCalls => self.after_calls(),
        }
    }

    fn start(&mut self) -> bool {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.rest.drain(..blank);
        if self.rest.is_empty() {
            return false;
        }
        if let (Opening::Answer(key), true) = (self.family.opening, self.has_tools) {
            match answer_begins(&self.rest, key) {
                Some(true) => {
                    let begin = self.rest.find('{').expect("a call begins with its bracket");
                    self.rest.drain(..begin);
                    self.open();
                    return true;
                }
                None => return false,
                Some(false) => (),
            }
        }
        self.state = State::Text;
        true
    }

    fn text(&mut self, found: &mut Vec<Found>) -> bool {
        let [think, thought] = self.family.thinking;
        let opening = self.family.marker().filter(|_| self.has_tools && !self.opens_by_token);
        let mut markers = vec![think, thought];
        markers.extend(opening);
        markers.extend(self.stops);
        let Some((at, marker)) = first(&self.rest, &markers) else {
            let held = held(&self.rest, &markers);
            let text: String = self.rest.drain(..self.rest.len() - held).collect();
            // Blank space waits for a possible marker; at the end of the text it is dropped.
            let ready = text.trim_end().len();
            self.rest.insert_str(0, &text[ready..]);
            self.give_text(&text[..ready], found);
            return false;
        };
        let before: String = self.rest.drain(..at + marker.len()).collect();
        self.give_text(before[..at].trim_end(), found);
        if marker == think {
            self.state = State::Thinking;
        } else if marker == thought {
            // The opening marker is in the prompt, or never came.
            self.state = if self.has_text { State::Text } else { State::Start };
        } else if Some(marker) == opening {
            self.open();
        } else {
            self.is_stopped = true;
            self.rest.clear();
            return false;
        }
        true
    }

    fn open(&mut self) {
        self.state = State::Calls(self.family.form.scan(self.family.closing));
    }

    fn think(&mut self, found: &mut Vec<Found>) -> bool {
        let [_, thought] = self.family.thinking;
        let Some((at, marker)) = first(&self.rest, &[thought]) else {
            let held = held(&self.rest, &[thought]);
            give_thinking(self.rest.drain(..self.rest.len() - held).collect(), found);
            return false;
        };
        give_thinking(self.rest.drain(..at).collect(), found);
        self.rest.drain(..marker.len());
        self.state = if self.has_text { State::Text } else { State::Start };
        true
    }

    fn after_calls(&mut self) -> bool {
        let behind = self.rest.trim_start();
        let may_close = |close: &&str| behind.len() < close.len() && close.starts_with(behind);
        if behind.is_empty() || self.family.closing.iter().any(may_close) {
            return false;
        }
        let closed = self.family.closing.iter().find_map(|close| behind.strip_prefix(close));
        let behind = closed.unwrap_or(behind);
        let used = self.rest.len() - behind.len();
        self.rest.drain(..used);
        // Behind a call, anything but another call is text.
        self.state = State::Text;
        true
    }

    fn give_call(&mut self, call: &str, found: &mut Vec<Found>) {
        found.push(match self.family.form.read(call, &self.tools) {
            Ok(call) => Found::Call(call),
            Err(Malformed) => Found::Malformed,
        });
    }

    fn give_text(&mut self, text: &str, found: &mut Vec<Found>) {
        let text = if self.has_text { text } else { text.trim_start() };
        if text.is_empty() {
            return;
        }
        self.has_text = true;
        match found.last_mut() {
            Some(Found::Text(last)) => last.push_str(text),
            _ => found.push(Found::Text(text.into())),
        }
    }
}

fn give_thinking(text: String, found: &mut Vec<Found>) {
    if !text.is_empty() {
        found.push(Found::Thinking(text));
    }
}

/// Tells whether an answer begins with an object that has this first key, fenced or not; `None` if it is too short to
/// tell.
fn answer_begins(text: &str, key: &str) -> Option<bool> {
    let mut rest = text;
    for fence in ["```json", "```tool_code", "```"] {
        if let Some(fenced) = rest.strip_prefix(fence) {
            rest = fenced;
            break;
        }
        if fence.starts_with(rest) {
            return None;
        }
    }
    for mark in ["{", &format!("\"{key}\""), ":"] {
        rest = rest.trim_start();
        match rest.strip_prefix(mark) {
            Some(behind) => rest = behind,
            None if mark.starts_with(rest) => return None,
            None => return Some(false),
        }
    }
    Some(true)
}

/// Finds the first marker in a text.
fn first<'m>(text: &str, markers: &[&'m str]) -> Option<(usize, &'m str)> {
    markers
        .iter()
        .filter_map(|marker| Some((text.find(marker)?, *marker)))
        .min_by_key(|(at, _)| *at)
}

#[cfg(test)]
#[path = "tests/parser.rs"]
mod tests;
