//! Separates text for the person, thinking and tool calls in a stream. The result is the same
//! however the text is split.

use std::sync::Arc;

use madang_actors::protocol::{ToolSpec, WantedCall};

use crate::{
    call::{Malformed, Scan, Seen, held},
    family::{Family, Opening},
    header::Header,
    signs::{Sign, Signs, TOKEN, answer_begins},
};

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Text for the person.
    Text(String),
    /// The model's thinking.
    Thinking(String),
    /// A whole tool call.
    Call(WantedCall),
    /// Text that was meant as a tool call and cannot be read, as a call that is refused.
    Malformed(WantedCall),
}

/// Reads one answer as it arrives. Text is released as soon as it cannot begin a marker. Blank
/// space at the beginning and the end of the text is dropped.
#[derive(Debug, Clone)]
pub struct Parser {
    family: &'static Family,
    /// The texts that end the answer.
    stops: &'static [&'static str],
    /// Whether anything in the answer can be a call.
    has_tools: bool,
    /// The tools whose schemas say how arguments are read.
    tools: Arc<[ToolSpec]>,
    /// Whether a token opens calls, and not a text that looks like it.
    opens_by_token: bool,
    /// The text that opens a call in an unknown form.
    foreign: Option<Arc<str>>,
    signs: Signs,
    state: State,
    /// Text that is not yet read.
    rest: String,
    has_text: bool,
    is_stopped: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// Only blank space has come. An answer that is nothing but a call may begin here.
    Start,
    Text,
    Thinking,
    /// Inside a block of calls. `rest` is the part of it that was not yet read.
    Calls(Scan),
    /// After a call or a block, before a closing marker that may come.
    AfterCalls,
    /// At the header of a message.
    Header,
    /// Inside a call in an unknown form, which all that follows belongs to.
    ForeignCall,
}

impl Parser {
    /// Begins an answer of this family. Each of the texts in `stops` ends it.
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

    /// Collects the signs to look for, after one of the options changed.
    fn signed(mut self, guarded: Vec<String>) -> Self {
        let mut signs = Signs::new(self.family, guarded);
        if let Some(opening) =
            self.family.marker().filter(|_| self.has_tools && !self.opens_by_token)
        {
            signs.add(opening, Sign::Call);
        }
        // The text may well be named in the middle of an answer. At its beginning it is a call even
        // without a token.
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

    /// Begins inside thinking, because the prompt has opened it.
    pub fn thinking(mut self) -> Self {
        self.state = State::Thinking;
        self
    }

    /// Offers these tools. If there are none, the answer is nothing but text, since no call is
    /// allowed.
    pub fn offering(self, tools: Arc<[ToolSpec]>) -> Self {
        let guarded = self.signs.guarded();
        Self { has_tools: !tools.is_empty(), tools, ..self }.signed(guarded)
    }

    /// Lets only [`open_call`](Self::open_call) open a call. The marker in ordinary text is then
    /// text.
    pub fn opened_by_token(mut self) -> Self {
        self.opens_by_token = true;
        let guarded = self.signs.guarded();
        self.signed(guarded)
    }

    /// Counts these texts as part of a mark only if [`push_token`](Self::push_token) adds them.
    pub fn guarding(self, parts: Vec<String>) -> Self {
        self.signed(parts)
    }

    /// Takes an answer that begins with this text for a call that cannot be read.
    pub fn failing(self, foreign: Option<Arc<str>>) -> Self {
        let guarded = self.signs.guarded();
        Self { foreign, ..self }.signed(guarded)
    }

    /// Opens a call by its token, and returns whether it did. It does not inside another call, a
    /// header or thinking, without tools, or after a stop text.
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

    /// Returns the part of the open block of calls that was not yet read. Returns `None` if no
    /// block is open.
    pub fn open_block(&self) -> Option<&str> {
        matches!(self.state, State::Calls(_)).then_some(self.rest.as_str())
    }

    /// Returns whether a stop text has come. What follows it is ignored.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Adds the next piece of the stream, and appends to `found` what is certain. Text that follows
    /// text there is joined to it, and so is thinking.
    pub fn push(&mut self, piece: &str, found: &mut Vec<Segment>) {
        if self.is_stopped {
            return;
        }
        self.rest.push_str(&self.signs.unmarked(piece));
        while self.step(found) {}
    }

    /// Adds a guarded text that a token wrote, and appends to `found` as [`push`](Self::push) does.
    pub fn push_token(&mut self, text: &str, found: &mut Vec<Segment>) {
        if self.is_stopped {
            return;
        }
        // Inside a call, a text and a token mean the same.
        if !matches!(self.state, State::Calls(_)) {
            self.rest.push(TOKEN);
        }
        self.rest.push_str(text);
        while self.step(found) {}
    }

    /// Ends the stream. If it was cut off, an open call is dropped. If not, the call is read as far
    /// as it goes.
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
            // A header without a message has no text.
            | State::Header => (),
        }
        self.state = State::Text;
    }

    /// Reads the next part of `rest`. Returns false if more text must come first.
    fn step(&mut self, found: &mut Vec<Segment>) -> bool {
        match &mut self.state {
            State::Start => self.start(),
            State::Text => self.text(found),
            State::Thinking => self.think(found),
            State::Calls(scan) => {
                let Some(seen) = scan.look(&self.rest) else { return false };
                let has_calls = scan.has_calls();
                let is_single = scan.is_single();
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
            // Blank space waits, because a marker may follow. At the end of the text it is dropped.
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
            // The opening marker is in the prompt, or is missing.
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
        // After a call, anything but another call is text.
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
