//! Text for the person, thinking and tool calls, told apart in a stream of text. Pure: the same result for every split
//! of the text.

use madang_actors::protocol::WantedCall;

use super::{
    call::{self, Malformed},
    json_scan::JsonScan,
};

/// How a model writes a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSyntax {
    /// `<tool_call>{"name":..,"arguments":{..}}</tool_call>`, anywhere in the text.
    Hermes,
    /// `{"tool_call":{"name":..,"arguments":{..}}}`, instead of text.
    Envelope,
}

/// What the parser found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Text for the person.
    Text(String),
    /// The model thinking aloud.
    Thinking(String),
    /// A tool call, whole.
    Call(WantedCall),
    /// Something that was meant to be a tool call and names no tool.
    Malformed,
}

pub(super) const CALL_OPEN: &str = "<tool_call>";
pub(super) const CALL_CLOSE: &str = "</tool_call>";
pub(super) const THINK_OPEN: &str = "<think>";
pub(super) const THINK_CLOSE: &str = "</think>";

/// The stream so far. Text is given out as soon as it cannot be the beginning of a marker; blank space at the beginning
/// and the end of the text is dropped.
#[derive(Debug, Clone)]
pub(super) struct Parser {
    syntax: CallSyntax,
    /// Where the text ends besides the end of the stream.
    stops: &'static [&'static str],
    state: State,
    /// What has come and is not yet understood.
    rest: String,
    has_text: bool,
    is_stopped: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// Before anything but blank space has come: here an envelope may begin.
    Start,
    Text,
    Thinking,
    /// Inside a call; `rest` is its body so far, of which `seen` bytes were scanned.
    Call {
        scan: JsonScan,
        seen: usize,
    },
    /// Behind a call, where its closing marker may stand.
    AfterCall,
}

impl Parser {
    pub(super) fn new(syntax: CallSyntax, stops: &'static [&'static str]) -> Self {
        Self {
            syntax,
            stops,
            state: State::Start,
            rest: String::new(),
            has_text: false,
            is_stopped: false,
        }
    }

    /// The prompt has opened the thinking already.
    pub(super) fn thinking(mut self) -> Self {
        self.state = State::Thinking;
        self
    }

    /// The body of the call that is open, as far as it has come.
    pub(super) fn open_call(&self) -> Option<&str> {
        matches!(self.state, State::Call { .. }).then_some(self.rest.as_str())
    }

    /// A stop text has come: the rest of the stream does not matter.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Takes the next piece of the stream.
    pub(super) fn push(&mut self, piece: &str, found: &mut Vec<Found>) {
        if self.is_stopped {
            return;
        }
        self.rest.push_str(piece);
        while self.step(found) {}
    }

    /// Ends the stream. A call that never closed is read as far as it goes unless the stream was cut off.
    pub(super) fn finish(&mut self, was_cut_off: bool, found: &mut Vec<Found>) {
        let rest = std::mem::take(&mut self.rest);
        match &self.state {
            State::Start | State::Text if !self.is_stopped => {
                self.give_text(rest.trim_end(), found)
            }
            State::Thinking => give_thinking(rest, found),
            State::Call { .. } if !was_cut_off => self.give_call(&rest, found),
            State::Start | State::Text | State::Call { .. } | State::AfterCall => (),
        }
        self.state = State::Text;
    }

    /// Understands the next part of `rest`; false when more must come first.
    fn step(&mut self, found: &mut Vec<Found>) -> bool {
        match &mut self.state {
            State::Start => self.start(),
            State::Text => self.text(found),
            State::Thinking => self.think(found),
            State::Call { scan, seen } => {
                let begin = *seen;
                *seen = self.rest.len();
                let Some(end) = call_end(scan, &self.rest, begin, self.syntax) else {
                    return false;
                };
                let body: String = self.rest.drain(..end).collect();
                self.give_call(&body, found);
                self.state = State::AfterCall;
                true
            }
            State::AfterCall => self.after_call(),
        }
    }

    fn start(&mut self) -> bool {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.rest.drain(..blank);
        if self.rest.is_empty() {
            return false;
        }
        if self.syntax == CallSyntax::Envelope {
            match call::envelope_begins(&self.rest) {
                Some(true) => {
                    let begin = self.rest.find('{').expect("an envelope begins with its bracket");
                    self.rest.drain(..begin);
                    self.state = State::Call { scan: JsonScan::default(), seen: 0 };
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
        let mut markers = vec![THINK_OPEN, THINK_CLOSE];
        if self.syntax == CallSyntax::Hermes {
            markers.push(CALL_OPEN);
        }
        markers.extend(self.stops);
        let Some((at, marker)) = first(&self.rest, &markers) else {
            let held = held(&self.rest, &markers);
            let text: String = self.rest.drain(..self.rest.len() - held).collect();
            // Blank space waits with the marker that may follow it: at the end of the text it is dropped.
            let ready = text.trim_end().len();
            self.rest.insert_str(0, &text[ready..]);
            self.give_text(&text[..ready], found);
            return false;
        };
        let before: String = self.rest.drain(..at + marker.len()).collect();
        self.give_text(before[..at].trim_end(), found);
        match marker {
            THINK_OPEN => self.state = State::Thinking,
            // The opening marker stood in the prompt, or never came.
            THINK_CLOSE => self.state = if self.has_text { State::Text } else { State::Start },
            CALL_OPEN => self.state = State::Call { scan: JsonScan::default(), seen: 0 },
            _ => {
                self.is_stopped = true;
                self.rest.clear();
                return false;
            }
        }
        true
    }

    fn think(&mut self, found: &mut Vec<Found>) -> bool {
        let Some((at, marker)) = first(&self.rest, &[THINK_CLOSE]) else {
            let held = held(&self.rest, &[THINK_CLOSE]);
            give_thinking(self.rest.drain(..self.rest.len() - held).collect(), found);
            return false;
        };
        give_thinking(self.rest.drain(..at).collect(), found);
        self.rest.drain(..marker.len());
        self.state = if self.has_text { State::Text } else { State::Start };
        true
    }

    fn after_call(&mut self) -> bool {
        let behind = self.rest.trim_start();
        let close = if self.syntax == CallSyntax::Hermes { CALL_CLOSE } else { "```" };
        if behind.is_empty() || (behind.len() < close.len() && close.starts_with(behind)) {
            return false;
        }
        let behind = behind.strip_prefix(close).unwrap_or(behind);
        let used = self.rest.len() - behind.len();
        self.rest.drain(..used);
        // What follows a call in the same completion is text only if it is no further call.
        self.state = State::Text;
        true
    }

    fn give_call(&mut self, body: &str, found: &mut Vec<Found>) {
        found.push(match call::read(body, self.syntax) {
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

/// Where the body of a call ends: behind the bracket that closes it, or, where it is no object, before the marker that
/// closes the call.
fn call_end(scan: &mut JsonScan, body: &str, begin: usize, syntax: CallSyntax) -> Option<usize> {
    if body.trim_start().starts_with('{') {
        let mut letters = body[begin..].char_indices();
        return letters
            .find_map(|(at, next)| scan.push(next).then_some(begin + at + next.len_utf8()));
    }
    if body.trim_start().is_empty() || syntax == CallSyntax::Envelope {
        return None;
    }
    body.find(CALL_CLOSE)
}

/// The first marker in a text.
fn first<'m>(text: &str, markers: &[&'m str]) -> Option<(usize, &'m str)> {
    markers
        .iter()
        .filter_map(|marker| Some((text.find(marker)?, *marker)))
        .min_by_key(|(at, _)| *at)
}

/// How many bytes at the end of a text may be the beginning of a marker.
fn held(text: &str, markers: &[&str]) -> usize {
    let begins =
        |(at, _): &(usize, char)| markers.iter().any(|marker| marker.starts_with(&text[*at..]));
    let longest = markers.iter().map(|marker| marker.len()).max().unwrap_or_default();
    let tail = text.char_indices().rev().take_while(|(at, _)| text.len() - at < longest);
    tail.filter(begins).last().map_or(0, |(at, _)| text.len() - at)
}

#[cfg(test)]
#[path = "tests/parser.rs"]
mod tests;
