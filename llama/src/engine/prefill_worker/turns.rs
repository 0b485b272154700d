//! Moves completions between contexts: the contexts split, the worker reads one piece of prompts
//! after another, and all completions return.

use tracing::{debug, warn};

use super::{
    super::{
        assignment::give_up,
        cache::Cache,
        kv_context::KvContext,
        plan::{self, DecodeRequest, Share},
        prefixes::Prefixes,
        run::{ActiveCompletion, ContextKind, WaitReason},
        scope::Held,
        sequence::{Sequence, Sequences},
        states::States,
        stats::EngineStats,
        steps::{Engine, fill},
    },
    Heard, Lent, Order, Piece, PrefillWorker, Stage,
    when::Load,
};

/// How many decodes in the main context follow after the others had no room for one.
const PAUSE: u64 = 256;

impl Engine<'_> {
    /// Lets the prefill worker read prompts while that pays.
    pub(in super::super) fn run_prefill_worker(&mut self) {
        let Some(worker) = &mut self.prefill_worker else { return };
        let room = worker.room;
        if worker.is_on() {
            if worker.is_awaited(&self.runs) {
                worker.thread.want();
            }
            // Without streams there is nothing else to do.
            let waits = self.runs.iter().all(|run| run.context != ContextKind::Streams);
            match worker.receive(waits) {
                Heard::Nothing => return,
                Heard::Read => self.has_read(),
                Heard::NoRoom => return self.join_for_room(),
                Heard::Failed => return self.join(),
            }
            if !self.load().stays_split(room) {
                return self.join();
            }
        } else if self.stats.decodes < worker.not_before
            || !self.load().should_split(room)
            || !self.has_contexts()
        {
            return;
        } else {
            debug!("the prefill worker takes the prompts");
            self.stats.splits += 1;
        }
        if !self.admit() || !self.read_on() {
            self.join_for_room();
        }
    }

    fn has_contexts(&mut self) -> bool {
        let has_contexts = self.prefill_worker.as_mut().and_then(PrefillWorker::has_contexts);
        if has_contexts.is_none() {
            warn!("the prefill worker is gone: prompts are read in turns from now on");
            self.prefill_worker = None;
        }
        has_contexts == Some(true)
    }

    /// Describes the running completions as they would be in split contexts.
    fn load(&self) -> Load {
        let held = self.cache.kv.held();
        let mut load = Load::default();
        let mut streams = Sequences::default();
        let mut prompts = Sequences::default();
        for run in &self.runs {
            let Some(sequence) = run.sequence else { continue };
            let new = run.tokens.len() - held.len(sequence);
            if run.unread() > 0 {
                prompts.insert(sequence);
                load.prompts_tokens += new;
                load.longest = load.longest.max(run.unread());
            } else {
                streams.insert(sequence);
                load.streams_tokens += new;
                load.streams += 1;
            }
        }
        load.prompts_tokens += held.distinct(&prompts);
        load.streams_tokens += held.distinct(&streams);
        load
    }

    /// Takes back the worker's results into the main context at once, so that others may begin with
    /// them and they outlive their completion. A recurrent state returns only after it sums up the
    /// whole prompt.
    fn has_read(&mut self) {
        let Self { runs, cache, coming, stats, prefill_worker: Some(worker), .. } = self else {
            return;
        };
        let PrefillWorker { reader: Some(Lent { kv, .. }), pieces, states, .. } = worker else {
            return;
        };
        let read: usize = pieces.iter().map(|piece| piece.tokens).sum();
        stats.decodes += pieces.last().map_or(0, |last| last.batch as u64 + 1);
        stats.prompt_tokens_evaluated += read as u64;
        stats.prefill_worker_tokens += read as u64;
        for piece in pieces.drain(..) {
            let Some(run) = runs.iter_mut().find(|run| run.began == piece.began) else { continue };
            let end = run.held + piece.tokens;
            kv.holds(piece.sequence, &run.tokens[run.held..end]);
            run.holds(end);
            run.last_decode = stats.decodes;
        }
        let mut stay = Sequences::default();
        for run in runs.iter_mut().filter(|run| run.context == ContextKind::Prefill) {
            let is_read = run.unread() == 0;
            if is_read || cache.keeps_parts() {
                return_to_main(run, kv, cache, coming, states, stats);
            }
            match run.sequence {
                Some(sequence) if !is_read => stay.extend([sequence]),
                Some(_) | None => run.context = ContextKind::Main,
            }
        }
        // The parts of completions that are over are cleared too.
        for sequence in cache.sequences().filter(|sequence| !stay.contains(sequence)) {
            kv.empty(sequence);
        }
    }

    /// Moves new completions to the context where they read or generate. Returns false if one has
    /// no room there.
    fn admit(&mut self) -> bool {
        let Self { runs, cache, prefill_worker: Some(worker), .. } = self else { return false };
        worker.stage = Stage::Split;
        let PrefillWorker { streams: Some(streams), reader: Some(reader), states, .. } = worker
        else {
            return false;
        };
        for run in runs.iter_mut().filter(|run| run.context == ContextKind::Main) {
            let Some(sequence) = run.sequence else { continue };
            let (context, kv) = if run.unread() > 0 {
                (ContextKind::Prefill, &mut reader.kv)
            } else {
                (ContextKind::Streams, &mut *streams)
            };
            if !kv.take_over(sequence, &mut cache.kv, states) {
                return false;
            }
            run.context = context;
        }
        true
    }

    /// Sends the worker more to read. Returns false if it is gone.
    fn read_on(&mut self) -> bool {
        let Self { runs, prefill_worker: Some(worker), .. } = self else { return false };
        let Some(mut lent) = worker.reader.take() else { return false };
        let request = |(at, run): (usize, &ActiveCompletion)| {
            let request = run.decode_request(at).filter(|_| run.context == ContextKind::Prefill)?;
            Some(DecodeRequest { tokens: run.unread(), ..request })
        };
        let requests = runs.iter().enumerate().filter_map(request).collect();
        let ahead = plan::plan_ahead(requests, worker.piece, lent.batches.len());
        lent.count = ahead.len();
        let mut held: Vec<usize> = runs.iter().map(|run| run.held).collect();
        for (number, (shares, batch)) in ahead.iter().zip(&mut lent.batches).enumerate() {
            fill(batch, runs, &held, shares);
            for Share { run, tokens } in shares.iter().copied() {
                held[run] += tokens;
                let ActiveCompletion { began, sequence, .. } = runs[run];
                let sequence = sequence.expect("a run without a sequence asks for nothing");
                worker.pieces.push(Piece { batch: number, began, sequence, tokens });
            }
        }
        worker.thread.order(Order::Decode(lent))
    }

    /// Joins the contexts for a while, because a completion has no room in a split one.
    pub(in super::super) fn join_for_room(&mut self) {
        if let Some(worker) = &mut self.prefill_worker {
            worker.not_before = self.stats.decodes + PAUSE;
        }
        self.join();
    }

    /// Returns all completions to the main context. The worker first ends its present piece. If
    /// that fails, prompts continue from the tokens known before.
    fn join(&mut self) {
        if self.prefill_worker.as_mut().map(|worker| worker.receive(true)) == Some(Heard::Read) {
            self.has_read();
        }
        let Self { runs, cache, coming, stats, prefill_worker: Some(worker), .. } = self else {
            return;
        };
        debug!("all continue in the main context");
        let PrefillWorker { streams, reader, states, .. } = worker;
        for run in runs.iter_mut() {
            let from = match run.context {
                ContextKind::Main => continue,
                ContextKind::Streams => streams.as_mut(),
                ContextKind::Prefill => reader.as_mut().map(|lent| &mut lent.kv),
            };
            run.context = ContextKind::Main;
            match (from, run.sequence) {
                (Some(from), Some(_)) => return_to_main(run, from, cache, coming, states, stats),
                (None, Some(sequence)) => run.held = cache.kv.held().len(sequence),
                (_, None) => (),
            }
        }
        worker.clear();
    }
}

impl PrefillWorker<'_> {
    /// Returns whether a chat wants to move to the context of prompts, wants to begin with its
    /// content, or has left it.
    fn is_awaited(&self, runs: &[ActiveCompletion]) -> bool {
        let is_over = |piece: &Piece| runs.iter().all(|run| run.began != piece.began);
        runs.iter().any(|run| match run.waits {
            WaitReason::No => run.context == ContextKind::Main && run.sequence.is_some(),
            // This is true even if the present piece is no longer needed.
            WaitReason::ForCommon { reader, tokens } => self.is_read_soon(runs, reader, tokens),
            WaitReason::ForRoom => false,
        }) || self.pieces.iter().any(is_over)
    }

    /// Returns whether the worker's present work reads a prompt up to this many tokens.
    fn is_read_soon(&self, runs: &[ActiveCompletion], reader: Sequence, tokens: usize) -> bool {
        let given = self.pieces.iter().filter(|piece| piece.sequence == reader);
        let given: usize = given.map(|piece| piece.tokens).sum();
        runs.iter().any(|run| run.sequence == Some(reader) && run.held + given >= tokens)
    }
}

/// Makes the main context hold a completion's content of another one. If it has no room even
/// without resting chats, the completion gives up its sequence.
fn return_to_main(
    run: &mut ActiveCompletion,
    from: &mut KvContext<'_>,
    cache: &mut Cache<'_>,
    coming: &mut Prefixes<Held>,
    states: &mut States,
    stats: &mut EngineStats,
) {
    let Some(sequence) = run.sequence else { return };
    while !cache.kv.take_over(sequence, from, states) {
        if !cache.make_room(stats) {
            return give_up(run, cache, coming, stats);
        }
    }
}
