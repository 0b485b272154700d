//! Decides which chat gets a sequence, which one waits for a prompt that is being read, and which
//! one gives up its sequence.

use madang_actors::protocol::Usage;
use tracing::debug;

use super::{
    cache::{Assigned, Cache, readable},
    plan,
    prefixes::{PrefixMatch, Prefixes},
    run::{ActiveCompletion, WaitReason},
    scope::Held,
    sequence::Sequence,
    stats::EngineStats,
    steps::Engine,
};

/// How many tokens beyond the known ones make a prompt wait for another that reads them. Without
/// the wait, both would read them.
const WAIT_GAIN: usize = 16;

impl Engine<'_> {
    /// Assigns sequences to completions that have none.
    pub(super) fn assign_sequences(&mut self) {
        let mut has_assigned = false;
        for at in 0..self.runs.len() {
            let run = &self.runs[at];
            if run.sequence.is_some() || !self.may_have_sequence(run) {
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
            let assigned = self.cache.assign(&run.owner, &run.tokens, &mut self.stats);
            let Some(Assigned { sequence, known, own }) = assigned else { break };
            has_assigned = true;
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
        if has_assigned {
            // Only now, because new completions may begin with resting chats.
            self.cache.swap_out_most(None, &mut self.stats);
        }
    }

    fn may_have_sequence(&self, run: &ActiveCompletion) -> bool {
        match run.waits {
            WaitReason::No => true,
            WaitReason::ForCommon { reader, tokens } => !self.reads(reader, tokens),
            // The engine lets it go on after another completion ended.
            WaitReason::ForRoom => self.runs.iter().all(|other| other.sequence.is_none()),
        }
    }

    /// Returns whether a prompt is being read on this sequence and has not come so far.
    fn reads(&self, reader: Sequence, tokens: usize) -> bool {
        let reads =
            |run: &ActiveCompletion| run.sequence == Some(reader) && run.reads && run.held < tokens;
        self.runs.iter().any(reads)
    }

    /// Makes room. Split contexts join. The main context moves resting chats to memory, and then
    /// takes the sequence of the youngest completion.
    pub(super) fn make_room(&mut self) -> bool {
        if self.is_split() {
            self.join_for_room();
            return true;
        }
        if self.cache.make_room(&mut self.stats) {
            return true;
        }
        let assigned = || self.runs.iter().enumerate().filter(|(_, run)| run.sequence.is_some());
        if assigned().count() < 2 {
            return false;
        }
        let youngest = plan::youngest(assigned().map(|(at, run)| (at, run.began)));
        let Some(run) = youngest.map(|at| &mut self.runs[at]) else { return false };
        give_up(run, &mut self.cache, &mut self.coming, &mut self.stats);
        true
    }
}

/// Takes the sequence of a completion, which reads its tokens again as soon as there is room.
pub(super) fn give_up(
    run: &mut ActiveCompletion,
    cache: &mut Cache<'_>,
    coming: &mut Prefixes<Held>,
    stats: &mut EngineStats,
) {
    debug!(completion = %run.request.id, "a completion gives up its sequence for others");
    stats.preempted += 1;
    if let Some(sequence) = run.loses_sequence(WaitReason::ForRoom) {
        coming.forget(sequence);
        cache.free(sequence);
    }
}
