//! The room that a user takes in a store. Every store counts in the same way, and refuses a turn if
//! too much is already stored.

use serde::Serialize;

use crate::protocol::{Digest, TurnOptions, json_bytes};

/// Bytes that an entry of a transcript or a step of a call counts in addition to its text. They are
/// for its columns and indexes, and for the rows of its turn and its call. With them, a turn of two
/// short messages counts 596 bytes and takes 546 of an SQLite file. A call that reads counts 1,134
/// and takes 1,434, as measured over 60 and 40 of them.
pub const ROW_BYTES: u64 = 256;

/// Counts the bytes of an entry of a transcript or a step of a call: its bytes as JSON, and
/// [`ROW_BYTES`].
#[must_use]
pub fn stored_bytes(text: &impl Serialize) -> u64 {
    let bytes =
        json_bytes(text, usize::MAX).expect("what is stored is JSON, and no JSON is longer");
    bytes as u64 + ROW_BYTES
}

/// Counts the bytes of the options of a turn: as JSON if it has instructions, and otherwise none.
/// The few bytes of all other options are in [`ROW_BYTES`] of its first message.
#[must_use]
pub fn stored_turn_bytes(options: &TurnOptions) -> u64 {
    options.instructions.as_ref().map_or(0, |_| stored_bytes(options) - ROW_BYTES)
}

/// Counts the bytes that stay of a deleted session with so many links in its chain: a row and its
/// hashes. They count until its user is forgotten, so that no user fills the disk with deletions.
#[must_use]
pub const fn erased_bytes(links: usize) -> u64 {
    ROW_BYTES + (links * size_of::<Digest>()) as u64
}

#[cfg(test)]
mod tests {
    use super::{ROW_BYTES, stored_bytes, stored_turn_bytes};
    use crate::protocol::TurnOptions;

    #[test]
    fn each_byte_of_the_json_counts_and_what_a_row_takes_beside_it() {
        for (text, bytes) in [("", 2), ("a", 3), ("수면", 8), ("\n", 4)] {
            assert_eq!(stored_bytes(&text), ROW_BYTES + bytes, "{text:?}");
        }
        assert_eq!(stored_bytes(&["a", "b"]), ROW_BYTES + 9);
    }

    #[test]
    fn the_options_of_a_turn_count_where_it_has_instructions() {
        let plain = TurnOptions { time_zone: Some("Asia/Seoul".into()), ..TurnOptions::default() };
        assert_eq!(stored_turn_bytes(&plain), 0);
        let bytes = |text: &str| {
            stored_turn_bytes(&TurnOptions { instructions: Some(text.into()), ..plain.clone() })
        };
        assert_eq!(bytes(&"x".repeat(16_384)), bytes("") + 16_384);
        assert_eq!(bytes("\n"), bytes("") + 2, "as JSON");
    }
}
