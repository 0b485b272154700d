//! Who is in which context: all part, the worker reads one piece of prompts after the other, and all come home again.

use tracing::{debug, warn};

use super::{
    super::{
        cache::Cache,
        kv_context::KvContext,
        places::give_up,
        plan::{self, Share, Wish},
        prefixes::Prefixes,
        run::{Home, Run, Waits},
        scope::Held,
        sequence::{Sequence, Sequences},
        states::States,
        stats::EngineStats,
        steps::{Engine, fill},
    },
    Apart, Heard, Lent, Order, Piece, Stage,
    when::Load,
};

/// So many decodes all stay together after somebody had no room apart.
const PAUSE: u64 = 256;

impl Engine<'_> {
    /// Lets prompts be read apart from those that generate as long as that pays.
    pub(in super::super) fn read_apart(&mut self) {
        let Some(apart) = &mut self.apart else { return };
        let room = apart.room;
        if apart.is_on() {
            if apart.is_awaited(&self.runs) {
                apart.worker.want();
            }
            // Where nobody generates there is nothing else to do.
            let waits = self.runs.iter().all(|run| run.home != Home::Streams);
            match apart.hear(waits) {
                Heard::Nothing => return,
                Heard::Read => self.has_read(),
                Heard::NoRoom => return self.join_for_room(),
                Heard::Lost => return self.join(),
            }
            if !self.load().stays_apart(room) {
                return self.join();
            }
        } else if self.stats.decodes < apart.not_before
            || !self.load().parts(room)
            || !self.has_contexts()
        {
            return;
        } else {
            debug!("those that generate part from prompts");
            self.stats.parted += 1;
        }
        if !self.admit() || !self.read_on() {
            self.join_for_room();
        }
    }

    fn has_contexts(&mut self) -> bool {
        let has_contexts = self.apart.as_mut().and_then(Apart::has_contexts);
        if has_contexts.is_none() {
            warn!("prompts cannot be read apart from now on: they are read in turns");
            self.apart = None;
        }
        has_contexts == Some(true)
    }

    /// What runs, as it would be apart.
    fn load(&self) -> Load {
        let held = self.cache.kv.held();
        let mut load = Load::default();
        let (mut streams, mut prompts) = (Sequences::default(), Sequences::default());
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
        load.prompts_tokens += held.distinct(prompts);
        load.streams_tokens += held.distinct(streams);
        load
    }

    /// What the worker was given is read, and comes home at once: others may begin with it, and it is not lost with those who
    /// leave. A state comes home when all is summed up in it.
    fn has_read(&mut self) {
        let Self { runs, cache, coming, stats, apart: Some(apart), .. } = self else { return };
        let Apart { reader: Some(Lent { kv, .. }), pieces, states, .. } = apart else { return };
        let read: usize = pieces.iter().map(|piece| piece.tokens).sum();
        stats.decodes += pieces.last().map_or(0, |last| last.batch as u64 + 1);
        stats.prompt_tokens_evaluated += read as u64;
        stats.prompt_tokens_apart += read as u64;
        for piece in pieces.drain(..) {
            let Some(run) = runs.iter_mut().find(|run| run.began == piece.began) else { continue };
            let end = run.held + piece.tokens;
            kv.holds(piece.sequence, &run.tokens[run.held..end]);
            run.holds(end);
            run.served = stats.decodes;
        }
        let mut stay = Sequences::default();
        for run in runs.iter_mut().filter(|run| run.home == Home::Reader) {
            let is_read = run.unread() == 0;
            if is_read || cache.keeps_parts() {
                come_home(run, kv, cache, coming, states, stats);
            }
            match run.sequence {
                Some(sequence) if !is_read => stay.insert(sequence),
                Some(_) | None => run.home = Home::Main,
            }
        }
        // Also what was decoded for completions that are over.
        for sequence in cache.sequences().filter(|sequence| !stay.contains(*sequence)) {
            kv.empty(sequence);
        }
    }

    /// Lets those that are new move to where they read or generate. False if somebody has no room there.
    fn admit(&mut self) -> bool {
        let Self { runs, cache, apart: Some(apart), .. } = self else { return false };
        apart.stage = Stage::Apart;
        let Apart { streams: Some(streams), reader: Some(reader), states, .. } = apart else {
            return false;
        };
        for run in runs.iter_mut().filter(|run| run.home == Home::Main) {
            let Some(sequence) = run.sequence else { continue };
            let (home, kv) = if run.unread() > 0 {
                (Home::Reader, &mut reader.kv)
            } else {
                (Home::Streams, &mut *streams)
            };
            if !kv.take_over(sequence, &mut cache.kv, states) {
                return false;
            }
            run.home = home;
        }
        true
    }

    /// Gives the worker more to read. False if it is gone.
    fn read_on(&mut self) -> bool {
        let Self { runs, apart: Some(apart), .. } = self else { return false };
        let Some(mut lent) = apart.reader.take() else { return false };
        let wish = |(at, run): (usize, &Run)| {
            let wish = run.wish(at).filter(|_| run.home == Home::Reader)?;
            Some(Wish { tokens: run.unread(), ..wish })
        };
        let wishes = runs.iter().enumerate().filter_map(wish).collect();
        let ahead = plan::plan_ahead(wishes, apart.piece, lent.batches.len());
        lent.count = ahead.len();
        let mut held: Vec<usize> = runs.iter().map(|run| run.held).collect();
        for (number, (shares, batch)) in ahead.iter().zip(&mut lent.batches).enumerate() {
            fill(batch, runs, &held, shares);
            for Share { run, tokens } in shares.iter().copied() {
                held[run] += tokens;
                let Run { began, sequence, .. } = runs[run];
                let sequence = sequence.expect("who has no sequence wishes nothing");
                apart.pieces.push(Piece { batch: number, began, sequence, tokens });
            }
        }
        apart.worker.order(Order::Decode(lent))
    }

    /// Somebody has no room apart: all go on together, for a while.
    pub(in super::super) fn join_for_room(&mut self) {
        if let Some(apart) = &mut self.apart {
            apart.not_before = self.stats.decodes + PAUSE;
        }
        self.join();
    }

    /// All come home. What the worker is at comes first; if that fails, prompts go on from what was known before.
    fn join(&mut self) {
        if self.apart.as_mut().map(|apart| apart.hear(true)) == Some(Heard::Read) {
            self.has_read();
        }
        let Self { runs, cache, coming, stats, apart: Some(apart), .. } = self else { return };
        debug!("all go on together");
        let Apart { streams, reader, states, .. } = apart;
        for run in runs.iter_mut() {
            let from = match run.home {
                Home::Main => continue,
                Home::Streams => streams.as_mut(),
                Home::Reader => reader.as_mut().map(|lent| &mut lent.kv),
            };
            run.home = Home::Main;
            match (from, run.sequence) {
                (Some(from), Some(_)) => come_home(run, from, cache, coming, states, stats),
                (None, Some(sequence)) => run.held = cache.kv.held().len(sequence),
                (_, None) => (),
            }
        }
        apart.clear();
    }
}

impl Apart<'_> {
    /// Whether somebody wants to move to the context of prompts, begin with what was read there, or has left it.
    fn is_awaited(&self, runs: &[Run]) -> bool {
        let is_over = |piece: &Piece| runs.iter().all(|run| run.began != piece.began);
        runs.iter().any(|run| match run.waits {
            Waits::No => run.home == Home::Main && run.sequence.is_some(),
            // Where what is read already is enough, not only what is to come.
            Waits::ForCommon { reader, tokens } => self.is_read_soon(runs, reader, tokens),
            Waits::ForRoom => false,
        }) || self.pieces.iter().any(is_over)
    }

    /// Whether so many tokens of a prompt are read with what the worker was given.
    fn is_read_soon(&self, runs: &[Run], reader: Sequence, tokens: usize) -> bool {
        let given = self.pieces.iter().filter(|piece| piece.sequence == reader);
        let given: usize = given.map(|piece| piece.tokens).sum();
        runs.iter().any(|run| run.sequence == Some(reader) && run.held + given >= tokens)
    }
}

/// Lets the engine's own context hold what a completion holds elsewhere. Where it has no room for it, not even without those
/// that rest, the completion gives up its place.
fn come_home(
    run: &mut Run,
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
