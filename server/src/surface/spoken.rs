//! Tracks the text of a message as far as a reader has it, and compares it with the message that is
//! stored in the end.

/// The streamed text of the message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Spoken(String);

/// What a reader lacks of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lack<'a> {
    /// This text, which may be empty.
    Rest(&'a str),
    /// Another text than the one that was streamed.
    Rewritten,
}

impl Spoken {
    /// Returns how many bytes were streamed. The next piece continues there.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a piece that begins after this many bytes. Returns whether it begins the message anew,
    /// while the reader has the beginning of another.
    pub(crate) fn hear(&mut self, at: usize, text: &str) -> bool {
        let begins_anew = at == 0 && !self.0.is_empty();
        if begins_anew {
            self.0.clear();
        }
        self.0.push_str(text);
        begins_anew
    }

    /// Compares with the message that is stored, and forgets what was streamed. White space at the
    /// end makes no difference to a reader.
    pub(crate) fn end<'a>(&mut self, message: &'a str) -> Lack<'a> {
        let spoken = std::mem::take(&mut self.0);
        if let Some(rest) = message.strip_prefix(&*spoken) {
            Lack::Rest(rest)
        } else if message.trim_end() == spoken.trim_end() {
            Lack::Rest("")
        } else {
            Lack::Rewritten
        }
    }
}

/// Cuts a text into pieces of at most this many bytes, between characters.
pub(crate) fn pieces(mut text: &str, max_bytes: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = text.floor_char_boundary(max_bytes.max(4)); // no character is longer
        let (piece, rest) = text.split_at(end);
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_message_adds_its_rest_or_replaces_what_was_streamed() {
        for (streamed, stored, lack) in [
            ("", "안녕", Lack::Rest("안녕")),
            ("안", "안녕", Lack::Rest("녕")),
            ("안녕", "안녕", Lack::Rest("")),
            ("안녕 \n", "안녕", Lack::Rest("")),
            ("안녕 ", "안녕 \n", Lack::Rest("\n")),
            ("안녕", "그래", Lack::Rewritten),
            ("안녕!", "안녕", Lack::Rewritten),
        ] {
            let mut spoken = Spoken::default();
            assert!(!spoken.hear(0, streamed));
            assert_eq!(spoken.end(stored), lack, "{streamed:?} {stored:?}");
            assert_eq!(spoken.len(), 0);
        }
    }

    #[test]
    fn a_piece_at_the_beginning_begins_anew() {
        let mut spoken = Spoken::default();
        assert!(!spoken.hear(0, "하나"));
        assert!(!spoken.hear(6, "둘"));
        assert!(spoken.hear(0, "셋"));
        assert_eq!(spoken.end("셋넷"), Lack::Rest("넷"));
    }

    #[test]
    fn pieces_are_cut_between_characters_and_lose_nothing() {
        assert_eq!(pieces("가나다", 7).collect::<Vec<_>>(), ["가나", "다"]);
        assert_eq!(pieces("🦀🦀", 1).collect::<Vec<_>>(), ["🦀", "🦀"]);
        assert_eq!(pieces("", 7).count(), 0);
    }
}
