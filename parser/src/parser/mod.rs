//! Separates text for the person, thinking and tool calls in a stream. Pure: the same result for every split of the
//! text.

use std::sync::Arc;

use madang_actors::protocol::{ToolSpec, WantedCall};

use crate::{
    call::{Malformed, Scan, Seen, held},
    family::{Family, Opening},
    header::Header,
    signs::{Sign, Signs, TOKEN, answer_begins},
};

/// A part of an answer, as the parser tells it from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Text for the person.
    Text(String),
    /// The model thinking aloud.
    Thinking(String),
    /// A tool call, whole.
    Call(WantedCall),
    /// What was meant as a tool call and cannot be read, as a call that is refused.
    Malformed(WantedCall),
}

/// The stream so far. Text is released as soon as it cannot begin a marker. Blank space at the beginning and the end of
/// the text is dropped.
#[derive(Debug, Clone)]
pub struct Parser {
    family: &'static Family,
    /// Texts that end the answer.
    stops: &'static [&'static str],
    /// Whether an answer in the form of a call is a call.
    has_tools: bool,
    /// The tools by which arguments are read.
    tools: Arc<[ToolSpec]>,
    /// Whether a token opens calls, instead of a text like its name.
    opens_by_token: bool,
    /// What opens a call in a form that is not known.
    foreign: Option<Arc<str>>,
    signs: Signs,
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
    /// At the header of a message.
    Header,
    /// Inside of a call in a form that is not known: all that follows.
    ForeignCall,
}

impl Parser {
    /// Begins an answer of this family, which each of the texts in `stops` ends.
    pub fn new(family: &'static Family, stops: &'static [&'static str]) -> Self {
        Self {
            family,
            stops,
            has_tools: true,
            tools: Arc::new([]),
            opens_by_token: false,
            foreign: None,
            signs: Signs::default(),
            state: State::Start,
            rest: String::new(),
            has_text: false,
            is_stopped: false,
        }
        .signed(Vec::new())
    }

    /// Writes down the signs of the text.
    fn signed(mut self, guarded: Vec<String>) -> Self {
        let mut signs = Signs::new(self.family, guarded);
        if let Some(opening) =
            self.family.marker().filter(|_| self.has_tools && !self.opens_by_token)
        {
            signs.add(opening, Sign::Call);
        }
        // A text may well name it; at the beginning of an answer it does more than that.
        if let Some(foreign) =
            self.foreign.as_ref().filter(|text| self.has_tools && signs.guards(text))
        {
            signs.add(foreign, Sign::ForeignCall);
        }
        for stop in self.stops {
            signs.add(stop, Sign::Stop);
        }
        self.signs = signs;
        self
    }

    /// Starts in thinking, which the prompt has opened.
    pub fn thinking(mut self) -> Self {
        self.state = State::Thinking;
        self
    }

    /// Offers these tools. Without any an answer is text, since none may be called.
    pub fn offering(self, tools: Arc<[ToolSpec]>) -> Self {
        let guarded = self.signs.guarded();
        Self { has_tools: !tools.is_empty(), tools, ..self }.signed(guarded)
    }

    /// Lets only [`open_call`](Self::open_call) open a call: the marker as text is text.
    pub fn opened_by_token(mut self) -> Self {
        self.opens_by_token = true;
        let guarded = self.signs.guarded();
        self.signed(guarded)
    }

    /// Lets these texts be part of a mark only where [`push_token`](Self::push_token) adds them.
    pub fn guarding(self, parts: Vec<String>) -> Self {
        self.signed(parts)
    }

    /// Takes an answer that begins with this text for a call that failed.
    pub fn failing(self, foreign: Option<Arc<str>>) -> Self {
        let guarded = self.signs.guarded();
        Self { foreign, ..self }.signed(guarded)
    }

    /// Opens a call by its token. False inside of another call, in thinking, or without tools.
    pub fn open_call(&mut self, found: &mut Vec<Segment>) -> bool {
        let may_open = match self.state {
            State::Start | State::Text | State::AfterCalls => self.has_tools && !self.is_stopped,
            State::Thinking | State::Calls(_) | State::Header | State::ForeignCall => false,
        };
        if may_open {
            let text = std::mem::take(&mut self.rest);
            self.give_text(text.trim_end(), found);
            self.open();
        }
        may_open
    }

    /// Returns the unreleased text of the open block of calls.
    pub fn open_block(&self) -> Option<&str> {
        matches!(self.state, State::Calls(_)).then_some(self.rest.as_str())
    }

    /// Tells whether a stop text has come, after which the stream does not matter.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Adds the next piece of the stream. Text that follows text in `found` is joined with it, and so is thinking.
    pub fn push(&mut self, piece: &str, found: &mut Vec<Segment>) {
        if self.is_stopped {
            return;
        }
        self.rest.push_str(&self.signs.unmarked(piece));
        while self.step(found) {}
    }

    /// Adds a guarded text that a token wrote.
    pub fn push_token(&mut self, text: &str, found: &mut Vec<Segment>) {
        if self.is_stopped {
            return;
        }
        // Inside of a call texts and tokens mean the same.
        if !matches!(self.state, State::Calls(_)) {
            self.rest.push(TOKEN);
        }
        self.rest.push_str(text);
        while self.step(found) {}
    }

    /// Ends the stream. Reads an open call as far as it goes, unless the stream was cut off.
    pub fn finish(&mut self, was_cut_off: bool, found: &mut Vec<Segment>) {
        let rest = std::mem::take(&mut self.rest);
        match &self.state {
            State::Start | State::Text if !self.is_stopped => {
                self.give_text(rest.trim_end(), found)
            }
            State::Thinking => give_thinking(&self.signs.shown(&rest), found),
            State::Calls(scan) if !was_cut_off => {
                if self.family.form.has_begun(&rest) || !scan.has_calls() {
                    self.give_call(&rest, found);
                }
            }
            State::ForeignCall if !was_cut_off => self.give_unread(&rest, found),
            State::Start
            | State::Text
            | State::Calls(_)
            | State::AfterCalls
            | State::ForeignCall
            // A header without a message says nothing.
            | State::Header => (),
        }
        self.state = State::Text;
    }

    /// Reads the next part of `rest`; false if more must come first.
    fn step(&mut self, found: &mut Vec<Segment>) -> bool {
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
                        let block: String = self.rest.drain(..end).collect();
                        if !has_calls {
                            self.give_unread(&block, found);
                        }
                        self.state = State::AfterCalls;
                    }
                }
                true
            }
            State::AfterCalls => self.after_calls(),
            State::Header => self.header(found),
            State::ForeignCall => false,
        }
    }

    fn start(&mut self) -> bool {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.rest.drain(..blank);
        if self.rest.is_empty() {
            return false;
        }
        if let Some(foreign) = self.foreign.as_ref().filter(|_| self.has_tools) {
            let foreign = self.signs.written(foreign);
            if self.rest.starts_with(&foreign) {
                self.state = State::ForeignCall;
                return true;
            }
            if foreign.starts_with(&self.rest) {
                return false;
            }
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
        self.state = match self.family.opening {
            Opening::Header(_) => State::Header,
            Opening::Marker(_) | Opening::Answer(_) => State::Text,
        };
        true
    }

    fn header(&mut self, found: &mut Vec<Segment>) -> bool {
        let Opening::Header(channels) = self.family.opening else { return false };
        let (end, next) = match channels.read(&self.rest, &|mark| self.signs.written(mark)) {
            Header::Unfinished => return false,
            Header::None => (0, State::Text),
            Header::Call(end) if self.has_tools => {
                self.rest.drain(..end);
                self.rest = self.rest.replace(TOKEN, "");
                self.open();
                return true;
            }
            Header::Message(end) => (end, State::Text),
            Header::Thinking(end) => (end, State::Thinking),
            Header::Call(end) | Header::Strange(end) => {
                self.give_unread(&self.rest[..end], found);
                (end, State::Thinking)
            }
        };
        self.rest.drain(..end);
        if end > 0 && self.has_text && matches!(next, State::Text) {
            self.rest.insert_str(0, "\n\n");
        }
        self.state = next;
        true
    }

    fn text(&mut self, found: &mut Vec<Segment>) -> bool {
        let Some((begin, end, sign)) = self.signs.first(&self.rest) else {
            let held = self.signs.held(&self.rest);
            let text: String = self.rest.drain(..self.rest.len() - held).collect();
            // Blank space waits for a possible marker; at the end of the text it is dropped.
            let ready = text.trim_end().len();
            self.rest.insert_str(0, &text[ready..]);
            self.give_text(&text[..ready], found);
            return false;
        };
        let before: String = self.rest.drain(..begin).collect();
        self.give_text(before.trim_end(), found);
        if !matches!(sign, Sign::Header | Sign::ForeignCall) {
            self.rest.drain(..end - begin);
        }
        match sign {
            Sign::Think => self.state = State::Thinking,
            // The opening marker is in the prompt, or never came.
            Sign::Thought => {
                self.state = if self.has_text { State::Text } else { State::Start };
            }
            Sign::Call => self.open(),
            Sign::Header => self.state = State::Header,
            Sign::End => (),
            Sign::ForeignCall => self.state = State::ForeignCall,
            Sign::Stop => {
                self.is_stopped = true;
                self.rest.clear();
                return false;
            }
        }
        true
    }

    fn open(&mut self) {
        self.state = State::Calls(self.family.form.scan(self.family.closing));
    }

    fn think(&mut self, found: &mut Vec<Segment>) -> bool {
        let thought = self.signs.written(self.family.thinking[1]);
        let Some(at) = self.rest.find(&thought) else {
            let held = held(&self.rest, &[&thought]);
            let text: String = self.rest.drain(..self.rest.len() - held).collect();
            give_thinking(&self.signs.shown(&text), found);
            return false;
        };
        let text: String = self.rest.drain(..at).collect();
        give_thinking(&self.signs.shown(&text), found);
        self.rest.drain(..thought.len());
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

    fn give_call(&mut self, call: &str, found: &mut Vec<Segment>) {
        match self.family.form.read(call, &self.tools) {
            Ok(call) => found.push(Segment::Call(call)),
            Err(Malformed) => self.give_unread(call, found),
        }
    }

    fn give_unread(&self, text: &str, found: &mut Vec<Segment>) {
        let call = WantedCall::unread(&text.replace(TOKEN, ""), &self.tools);
        found.push(Segment::Malformed(call));
    }

    fn give_text(&mut self, text: &str, found: &mut Vec<Segment>) {
        let text = if self.has_text { text } else { text.trim_start() };
        let text = &self.signs.shown(text);
        if text.is_empty() {
            return;
        }
        self.has_text = true;
        match found.last_mut() {
            Some(Segment::Text(last)) => last.push_str(text),
            _ => found.push(Segment::Text(text.into())),
        }
    }
}

fn give_thinking(text: &str, found: &mut Vec<Segment>) {
    if text.is_empty() {
        return;
    }
    match found.last_mut() {
        Some(Segment::Thinking(last)) => last.push_str(text),
        _ => found.push(Segment::Thinking(text.to_owned())),
    }
}

#[cfg(test)]
mod tests;
