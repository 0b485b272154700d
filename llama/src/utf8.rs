//! Joins the bytes of tokens to text. A token may end inside a character.

/// Keeps the bytes of a character that is not complete.
#[derive(Debug, Clone, Default)]
pub(super) struct Utf8 {
    waiting: Vec<u8>,
}

impl Utf8 {
    /// Adds bytes and returns the complete text. Bytes that cannot become a character become
    /// U+FFFD.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend_from_slice(bytes);
        let read = std::mem::take(&mut self.waiting);
        let mut text = String::new();
        let mut chunks = read.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let rest = chunk.invalid();
            let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
            if chunks.peek().is_none() && std::str::from_utf8(rest).is_err_and(is_cut) {
                self.waiting = rest.to_vec();
            } else if !rest.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Ends the text, and returns the rest. A character that is not complete becomes U+FFFD.
    pub(super) fn finish(&mut self) -> String {
        if self.waiting.is_empty() {
            return String::new();
        }
        self.waiting.clear();
        char::REPLACEMENT_CHARACTER.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> String {
        let mut utf8 = Utf8::default();
        let mut text: String = pieces.iter().map(|piece| utf8.push(piece)).collect();
        text.push_str(&utf8.finish());
        text
    }

    #[test]
    fn a_character_cut_in_two_comes_out_whole() {
        let bytes = "잠🌱".as_bytes();
        assert_eq!(decode(&[&bytes[..1], &bytes[1..4], &bytes[4..]]), "잠🌱");
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(decode(&[b"a\xff\xc3", b"b\xe2\x82"]), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_split_of_a_text_gives_the_text(text in ".{0,40}", cuts in proptest::collection::vec(0_usize..200, 0..8)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(&pieces), text);
        }
    }
}
