//! When prompts are read apart from those that generate.

/// What runs, as far as it has a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// So many generate, or have only the last token of their prompt to read.
    pub(super) streams: usize,
    /// Tokens of these, those that they share counted once.
    pub(super) streams_tokens: usize,
    /// Tokens that the longest of the other prompts has still to read.
    pub(super) longest: usize,
    /// Tokens of these prompts, counted in the same way.
    pub(super) prompts_tokens: usize,
}

/// From so many tokens on a prompt is worth it: moving everybody to other contexts and back takes as long as some ten
/// tokens take to read, and while all are apart each side has half of the threads.
const LONG: usize = 256;
/// Whoever generates has room for so many tokens more when all part: with less all would soon move back.
const SLACK: usize = 64;

impl Load {
    /// Whether all are to part, where each of the two contexts has room for so many tokens.
    pub(super) const fn parts(self, room: usize) -> bool {
        let Self { streams, longest, streams_tokens, prompts_tokens } = self;
        streams > 0
            && longest >= LONG
            && streams_tokens + SLACK * streams <= room
            && prompts_tokens <= room
    }

    /// Whether those that have parted stay apart.
    pub(super) const fn stays_apart(self, room: usize) -> bool {
        let Self { streams, longest, streams_tokens, prompts_tokens } = self;
        streams > 0 && longest > 0 && streams_tokens + streams <= room && prompts_tokens <= room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load =
        Load { streams: 16, streams_tokens: 3_000, longest: 4_000, prompts_tokens: 4_100 };

    #[test]
    fn only_a_long_prompt_beside_others_is_read_apart() {
        assert!(LOAD.parts(8_192));
        assert!(!Load { longest: LONG - 1, ..LOAD }.parts(8_192));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.parts(8_192));
    }

    #[test]
    fn who_has_parted_stays_apart_until_all_is_read_or_nobody_generates() {
        assert!(Load { longest: 1, ..LOAD }.stays_apart(8_192));
        assert!(!Load { longest: 0, ..LOAD }.stays_apart(8_192));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.stays_apart(8_192));
    }

    #[test]
    fn without_room_for_all_nobody_parts_and_with_little_nobody_has_to_move_back_soon() {
        assert!(!LOAD.parts(4_099) && !LOAD.stays_apart(4_099), "for the prompts");
        let many = Load { streams_tokens: 8_192 - 16 * SLACK, ..LOAD };
        assert!(many.parts(8_192));
        let more = Load { streams_tokens: many.streams_tokens + 1, ..LOAD };
        assert!(!more.parts(8_192) && more.stays_apart(8_192));
        assert!(!Load { streams_tokens: 8_192 - 15, ..LOAD }.stays_apart(8_192));
    }
}
