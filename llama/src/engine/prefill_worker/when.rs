//! Decides when the prefill worker reads prompts.

/// The running completions that have a sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// The completions that generate, or have only the last token of their prompt to read.
    pub(super) streams: usize,
    /// The tokens of these, shared ones counted once.
    pub(super) streams_tokens: usize,
    /// The unread tokens of the longest other prompt.
    pub(super) longest: usize,
    /// The tokens of these prompts, counted in the same way.
    pub(super) prompts_tokens: usize,
}

/// The room of the contexts in tokens.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Room {
    /// In each of the two contexts.
    pub(in super::super) split: usize,
    /// In the main context, to which all return.
    pub(in super::super) main: usize,
}

/// The length from which a split pays. Moving all chats there and back takes as long as reading
/// some ten tokens, and each side has half of the threads.
const LONG: usize = 256;
/// How many free tokens each stream has when the contexts split. With fewer, all would soon move
/// back.
const SLACK: usize = 64;

impl Load {
    /// Returns whether prompts move to the prefill worker.
    pub(super) const fn should_split(self, room: Room) -> bool {
        self.streams > 0 && self.longest >= LONG && self.fits(SLACK, room)
    }

    /// Returns whether the contexts stay split.
    pub(super) const fn stays_split(self, room: Room) -> bool {
        self.streams > 0 && self.longest > 0 && self.fits(1, room)
    }

    /// Returns whether all of them fit, with this many free tokens for each stream. Without room in
    /// the main context, one of them would lose its sequence at the join, even if it had waited
    /// longest.
    const fn fits(self, slack: usize, room: Room) -> bool {
        let Self { streams, streams_tokens, prompts_tokens, .. } = self;
        let streams = streams_tokens + slack * streams;
        streams <= room.split
            && prompts_tokens <= room.split
            && streams + prompts_tokens <= room.main
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load =
        Load { streams: 16, streams_tokens: 3_000, longest: 4_000, prompts_tokens: 4_100 };

    const fn room(split: usize) -> Room {
        Room { split, main: 4 * split }
    }

    #[test]
    fn only_a_long_prompt_beside_others_moves_to_the_prefill_worker() {
        assert!(LOAD.should_split(room(8_192)));
        assert!(!Load { longest: LONG - 1, ..LOAD }.should_split(room(8_192)));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.should_split(room(8_192)));
    }

    #[test]
    fn contexts_stay_split_until_all_is_read_or_no_completion_generates() {
        assert!(Load { longest: 1, ..LOAD }.stays_split(room(8_192)));
        assert!(!Load { longest: 0, ..LOAD }.stays_split(room(8_192)));
        assert!(!Load { streams: 0, streams_tokens: 0, ..LOAD }.stays_split(room(8_192)));
    }

    #[test]
    fn without_room_for_all_contexts_do_not_split_and_with_little_they_do_not_join_soon() {
        assert!(
            !LOAD.should_split(room(4_099)) && !LOAD.stays_split(room(4_099)),
            "for the prompts"
        );
        let tight = |main| Room { split: 8_192, main };
        assert!(
            !LOAD.should_split(tight(7_100 + 16 * SLACK - 1))
                && LOAD.should_split(tight(7_100 + 16 * SLACK))
        );
        assert!(
            !LOAD.stays_split(tight(7_115)) && LOAD.stays_split(tight(7_116)),
            "in the main context"
        );
        let many = Load { streams_tokens: 8_192 - 16 * SLACK, ..LOAD };
        assert!(many.should_split(room(8_192)));
        let more = Load { streams_tokens: many.streams_tokens + 1, ..LOAD };
        assert!(!more.should_split(room(8_192)) && more.stays_split(room(8_192)));
        assert!(!Load { streams_tokens: 8_192 - 15, ..LOAD }.stays_split(room(8_192)));
    }
}
