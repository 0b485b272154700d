//! Reads the header of a message in channels, as gpt-oss writes them: to whom the message goes, and
//! of which kind it is.

/// The marks around a header.
#[derive(Debug, PartialEq, Eq)]
pub struct Channels {
    /// Begins a message of the model.
    pub start: &'static str,
    /// Begins the name of the channel.
    pub(crate) channel: &'static str,
    /// Ends the header.
    pub(crate) message: &'static str,
    /// Ends the message.
    pub(crate) end: &'static str,
    /// Begins the recipient of a message.
    pub(crate) to: &'static str,
    /// Begins the name of a tool that is the recipient.
    pub tools: &'static str,
    /// The channel in which the model thinks.
    pub(crate) thinking: &'static str,
}

/// What was found at the beginning of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// More must come first.
    Unfinished,
    /// There is no header.
    None,
    /// A call begins at this byte, with the name of its tool.
    Call(usize),
    /// A message of the model begins at this byte.
    Message(usize),
    /// The model's thinking begins at this byte.
    Thinking(usize),
    /// A message to something other than a tool begins at this byte.
    Strange(usize),
}

impl Channels {
    /// Lists the marks that must be tokens, and that mean nothing as ordinary text.
    pub(crate) fn marks(&self) -> [&'static str; 4] {
        [self.start, self.channel, self.message, self.end]
    }

    /// Reads a header. `written` turns a mark into the text that represents it in an answer.
    pub(crate) fn read(&self, text: &str, written: &dyn Fn(&str) -> String) -> Header {
        let [start, channel, message] = [self.start, self.channel, self.message].map(written);
        let begin = text.len() - text.trim_start().len();
        let begun = &text[begin..];
        if let Some(behind) = begun.strip_prefix(&*start) {
            return self.read_behind(text, text.len() - behind.len(), &channel, &message);
        }
        let begins = [&*start, &channel, self.to];
        if begins.iter().any(|mark| begun.starts_with(mark)) {
            self.read_behind(text, begin, &channel, &message)
        } else if begins.iter().any(|mark| mark.starts_with(begun)) {
            Header::Unfinished
        } else {
            Header::None
        }
    }

    fn read_behind(&self, text: &str, begin: usize, channel: &str, message: &str) -> Header {
        let end = text.find(message);
        let header = &text[begin..end.unwrap_or(text.len())];
        if let Some(at) = header.find(self.tools) {
            return Header::Call(begin + at + self.tools.len());
        }
        let Some(end) = end else { return Header::Unfinished };
        let name = header.split_once(channel).map_or("", |(_, name)| name.trim_start());
        let body = end + message.len();
        if header.contains(self.to) {
            Header::Strange(body)
        } else if name.starts_with(self.thinking) {
            Header::Thinking(body)
        } else {
            Header::Message(body)
        }
    }
}
