//! Tracks how much of a message is on the screen: its deltas come first, then the message that
//! replaces them.

/// The text that was streamed since the last message.
#[derive(Debug)]
pub(super) struct Streamed {
    shown: String,
}

impl Streamed {
    pub(super) const fn new() -> Self {
        Self { shown: String::new() }
    }

    /// Adds a delta and returns the text to print; nothing while the text is only blank.
    pub(super) fn delta(&mut self, new: &str) -> String {
        let was_blank = self.shown.trim().is_empty();
        self.shown.push_str(new);
        match was_blank {
            true => self.shown.trim_start().to_owned(),
            false => new.to_owned(),
        }
    }

    /// Tells whether a part of a message is on the screen.
    pub(super) fn is_open(&self) -> bool {
        !self.shown.trim().is_empty()
    }

    /// Takes the message and returns the rest to print. If the streamed text differs, the message
    /// is printed whole on a line of its own.
    pub(super) fn message(&mut self, text: &str) -> String {
        let shown = std::mem::take(&mut self.shown);
        let shown = shown.trim_start();
        let text = text.trim();
        if shown.is_empty() {
            return text.to_owned();
        }
        match text.strip_prefix(shown) {
            Some(rest) => rest.to_owned(),
            None if shown.trim_end() == text => String::new(),
            None => format!("\n{text}"),
        }
    }

    /// Forgets the streamed text, because no message follows. Tells whether any is on the screen.
    pub(super) fn abandon(&mut self) -> bool {
        let is_open = self.is_open();
        self.shown.clear();
        is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the screen after these deltas and this message.
    fn shown(deltas: &[&str], message: &str) -> String {
        let mut streamed = Streamed::new();
        let mut shown: String = deltas.iter().map(|delta| streamed.delta(delta)).collect();
        shown += &streamed.message(message);
        shown
    }

    #[test]
    fn a_message_is_shown_once_however_much_of_it_was_streamed() {
        assert_eq!(shown(&[], "Hello!"), "Hello!");
        assert_eq!(shown(&["Hel"], "Hello!"), "Hello!");
        assert_eq!(shown(&["\n", " Hel", "lo!"], "\n Hello!"), "Hello!");
        assert_eq!(shown(&["Hello! \n"], "Hello!"), "Hello! \n");
        assert_eq!(shown(&["Something"], "else"), "Something\nelse");
    }
}
