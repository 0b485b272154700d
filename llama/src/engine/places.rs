//! Which chat gets a sequence, which waits for what another one reads, and which gives up its place.

use madang_actors::protocol::Usage;
use tracing::debug;

use super::{
    cache::{Cache, Placed, readable},
    plan,
    prefixes::{PrefixMatch, Prefixes},
    run::{ActiveCompletion, WaitReason},
    scope::Held,
    sequence::Sequence,
    stats::EngineStats,
    steps::Engine,
};

/// A prompt waits for another one that is being read if they share so many tokens more than what is known already:
/// otherwise both would read them.
const WAIT_GAIN: usize = 16;

impl Engine<'_> {
    /// Gives sequences to those that have none.
    pub(super) fn place(&mut self) {
        let mut has_placed = false;
        for at in 0..self.runs.len() {
            let run = &self.runs[at];
            if run.sequence.is_some() || !self.may_place(run) {
                continue;
            }
            let known = self.cache.known(&run.tokens);
            let coming = self.coming.longest(readable(&run.tokens), |_| true);
            let is_awaited = |coming: &PrefixMatch| {
                coming.tokens >= known + WAIT_GAIN && self.reads(coming.by, coming.tokens)
            };
            if let Some(PrefixMatch { by: reader, tokens }) = coming.filter(is_awaited) {
                self.runs[at].waits = WaitReason::ForCommon { reader, tokens };
                continue;
            }
            let run = &mut self.runs[at];
            let placed = self.cache.place(&run.owner, &run.tokens, &mut self.stats);
            let Some(Placed { sequence, known, own }) = placed else { break };
            has_placed = true;
            if run.usage == Usage::default() {
                run.usage.cached_tokens = u32::try_from(own).unwrap_or(u32::MAX);
                self.stats.prompt_tokens_reused += known as u64;
            }
            run.sequence = Some(sequence);
            run.waits = WaitReason::No;
            run.holds(known);
            if self.cache.keeps_parts() {
                self.coming.extend(sequence, &run.tokens);
            }
        }
        if has_placed {
            // Not before: those that come may begin with what others rest on.
            self.cache.swap_out_most(None, &mut self.stats);
        }
    }

    fn may_place(&self, run: &ActiveCompletion) -> bool {
        match run.waits {
            WaitReason::No => true,
            WaitReason::ForCommon { reader, tokens } => !self.reads(reader, tokens),
            // The engine lets it go on when another one is over.
            WaitReason::ForRoom => self.runs.iter().all(|other| other.sequence.is_none()),
        }
    }

    /// Whether a prompt is read on this sequence, and is not so far yet.
    fn reads(&self, reader: Sequence, tokens: usize) -> bool {
        let reads =
            |run: &ActiveCompletion| run.sequence == Some(reader) && run.reads && run.held < tokens;
        self.runs.iter().any(reads)
    }

    /// Makes room: in split contexts by joining; in the main context of chats that rest, then of the completion that began
    /// last.
    pub(super) fn make_room(&mut self) -> bool {
        if self.is_split() {
            self.join_for_room();
            return true;
        }
        if self.cache.make_room(&mut self.stats) {
            return true;
        }
        let placed = || self.runs.iter().enumerate().filter(|(_, run)| run.sequence.is_some());
        if placed().count() < 2 {
            return false;
        }
        let youngest = plan::youngest(placed().map(|(at, run)| (at, run.began)));
        let Some(run) = youngest.map(|at| &mut self.runs[at]) else { return false };
        give_up(run, &mut self.cache, &mut self.coming, &mut self.stats);
        true
    }
}

/// A completion gives up its place, and reads again when there is room.
pub(super) fn give_up(
    run: &mut ActiveCompletion,
    cache: &mut Cache<'_>,
    coming: &mut Prefixes<Held>,
    stats: &mut EngineStats,
) {
    debug!(completion = %run.request.id, "a completion gives up its place for others");
    stats.preempted += 1;
    if let Some(sequence) = run.loses_place(WaitReason::ForRoom) {
        coming.forget(sequence);
        cache.free(sequence);
    }
}
