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

/// For how many tokens there is room.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Room {
    /// In each of the two contexts.
    pub(in super::super) apart: usize,
    /// In the engine's own one, into which all come home.
    pub(in super::super) home: usize,
}

/// From so many tokens on a prompt is worth it: moving everybody to other contexts and back takes as long as some ten
/// tokens take to read, and while all are apart each side has half of the threads.
const LONG: usize = 256;
/// Whoever generates has room for so many tokens more when all part: with less all would soon move back.
const SLACK: usize = 64;

impl Load {
    /// Whether all are to part.
    pub(super) const fn parts(self, room: Room) -> bool {
        self.streams > 0 && self.longest >= LONG && self.fits(SLACK, room)
    }

    /// Whether those that have parted stay apart.
    pub(super) const fn stays_apart(self, room: Room) -> bool {
        self.streams > 0 && self.longest > 0 && self.fits(1, room)
    }

    /// Whether there is room for all, and for so many tokens more of each that generates. Without room at home somebody would
    /// have to give up its place when all join, and be it the one that has waited longest.
    const fn fits(self, slack: usize, room: Room) -> bool {
        let Self { streams, streams_tokens, prompts_tokens, .. } = self;
        let streams = streams_tokens + slack * streams;
        streams <= room.apart
            && prompts_tokens <= room.apart
            && streams + prompts_tokens <= room.home
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load =
        Load { streams: 16, streams_tokens: 3_000, longest: 4_000, prompts_tokens: 4_100 };

    const fn room(apart: usize) -> Room {
        Room { apart, home: 4 * apart }
    }

    #[test]
    fn only_a_long_prompt_beside_others_is_read_apart() {
        assert!(LOAD.parts(room(8_192)));
        assert!(!Load { longest: LONG - 1, ..LOAD }.parts(room(8_192)));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.parts(room(8_192)));
    }

    #[test]
    fn who_has_parted_stays_apart_until_all_is_read_or_nobody_generates() {
        assert!(Load { longest: 1, ..LOAD }.stays_apart(room(8_192)));
        assert!(!Load { longest: 0, ..LOAD }.stays_apart(room(8_192)));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.stays_apart(room(8_192)));
    }

    #[test]
    fn without_room_for_all_nobody_parts_and_with_little_nobody_has_to_move_back_soon() {
        assert!(!LOAD.parts(room(4_099)) && !LOAD.stays_apart(room(4_099)), "for the prompts");
        let tight = |home| Room { apart: 8_192, home };
        assert!(
            !LOAD.parts(tight(7_100 + 16 * SLACK - 1)) && LOAD.parts(tight(7_100 + 16 * SLACK))
        );
        assert!(!LOAD.stays_apart(tight(7_115)) && LOAD.stays_apart(tight(7_116)), "at home");
        let many = Load { streams_tokens: 8_192 - 16 * SLACK, ..LOAD };
        assert!(many.parts(room(8_192)));
        let more = Load { streams_tokens: many.streams_tokens + 1, ..LOAD };
        assert!(!more.parts(room(8_192)) && more.stays_apart(room(8_192)));
        assert!(!Load { streams_tokens: 8_192 - 15, ..LOAD }.stays_apart(room(8_192)));
    }
}
