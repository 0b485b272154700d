//! Spells text in tokens of single characters, for text that must not be read as anything else.

use std::collections::HashMap;

use llama_cpp_2::token::LlamaToken;

/// The tokens of single letters, and of single bytes.
#[derive(Debug, Default)]
pub(super) struct Letters {
    tokens: HashMap<Vec<u8>, LlamaToken>,
    /// The tokens that are bytes by their kind.
    bytes: HashMap<Vec<u8>, LlamaToken>,
}

impl Letters {
    /// Adds a token of one character or one byte. If two tokens have the same bytes, the first
    /// counts, but an ordinary token comes before that of a byte.
    pub(super) fn take(&mut self, bytes: &[u8], token: LlamaToken, is_byte: bool) {
        let is_letter =
            std::str::from_utf8(bytes).is_ok_and(|text| text.chars().take(2).count() == 1);
        if bytes.len() != 1 && !is_letter {
            return;
        }
        let tokens = if is_byte { &mut self.bytes } else { &mut self.tokens };
        tokens.entry(bytes.to_vec()).or_insert(token);
    }

    /// Spells a text. A character without a token of its own is spelled in bytes. A byte without a
    /// token is left out.
    pub(super) fn spell(&self, text: &str, tokens: &mut Vec<LlamaToken>) {
        let mut letter = [0; 4];
        for char in text.chars() {
            let bytes = char.encode_utf8(&mut letter).as_bytes();
            match self.token(bytes) {
                Some(token) => tokens.push(token),
                None => tokens.extend(bytes.iter().filter_map(|byte| self.token(&[*byte]))),
            }
        }
    }

    fn token(&self, bytes: &[u8]) -> Option<LlamaToken> {
        self.tokens.get(bytes).or_else(|| self.bytes.get(bytes)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_its_own_token_or_those_of_its_bytes() {
        let mut letters = Letters::default();
        for (bytes, token, is_byte) in [
            (&b"a"[..], 7, true),
            (b"a", 1, false),
            (b"ab", 2, false),
            ("가".as_bytes(), 3, false),
            (&[0xc3], 4, true),
            (&[0xa9], 5, true),
        ] {
            letters.take(bytes, LlamaToken(token), is_byte);
        }
        let mut tokens = Vec::new();
        letters.spell("ab가é", &mut tokens);
        assert_eq!(tokens, [1, 3, 4, 5].map(LlamaToken), "no token says b");
    }
}
