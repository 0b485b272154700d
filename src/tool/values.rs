//! Counts the values of a JSON text while it arrives, because a tree of many small values takes
//! fifty times their bytes.

/// Counts the values of a JSON text that comes in pieces, before anything parses it. For a text
/// that is not JSON the number means nothing.
#[derive(Debug)]
pub struct ValueCount {
    values: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Default for ValueCount {
    /// Begins a text, which has at least one value.
    fn default() -> Self {
        Self { values: 1, is_text: false, is_escaped: false }
    }
}

impl ValueCount {
    /// Reads a piece, and returns the number of values so far.
    pub fn read(&mut self, piece: &[u8]) -> usize {
        for byte in piece {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.is_text,
                b'"' => self.is_text = !self.is_text,
                b',' | b'[' | b'{' if !self.is_text => self.values += 1,
                _ => {}
            }
        }
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_alike_wherever_a_text_is_cut() {
        let text = br#"{"a\",[{":[1,2,{"b":"c,\\"}],"d":"["}"#;
        for cut in 0..=text.len() {
            let mut count = ValueCount::default();
            count.read(&text[..cut]);
            assert_eq!(count.read(&text[cut..]), 7, "{cut}");
        }
    }
}
