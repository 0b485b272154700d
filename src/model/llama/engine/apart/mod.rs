//! Reading long prompts apart: they have a context of their own and those that generate another one, each with half of the
//! threads, so that neither waits for the other. When all is read, all go on in the engine's own context.
//!
//! One context cannot do that: its threads take turns whatever it decodes. And with more threads than cores nothing goes on,
//! for they wait for each other by spinning.

mod turns;
mod when;
mod worker;

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch};

use super::{kept::Kept, sequence::Sequence, states::States};
use worker::{Done, Lent, Order};

pub(super) use worker::{Make, Worker, worker};

/// The contexts for it, and who is in them.
pub(super) struct Apart<'m> {
    worker: Worker<'m>,
    stage: Stage,
    /// The context of those that generate.
    streams: Option<Kept<'m>>,
    /// The context of prompts, when the worker does not have it.
    reader: Option<Lent<'m>>,
    /// What the worker decodes.
    pieces: Vec<Piece>,
    /// Copies chats from one context to another.
    states: States,
    /// Each context has room for so many tokens.
    room: usize,
    /// So many are decoded at once.
    batch: usize,
    /// All stay together until so many decodes are done.
    not_before: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There are no contexts yet, which may take long to make and much memory.
    Unmade,
    /// The worker makes them.
    Making,
    /// Nobody is in them.
    Together,
    /// Those that generate are in one of them, prompts in the other.
    Apart,
}

/// What a prompt has in a decode of the worker.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Numbers its completion, which may be over when this is read.
    began: u64,
    sequence: Sequence,
    tokens: usize,
}

/// What became of what the worker decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// It is not done yet.
    Nothing,
    /// It was read, or there was nothing to read.
    Read,
    /// There was no room for it, and nothing has happened.
    NoRoom,
    /// It failed, and what the context of prompts holds is lost.
    Lost,
}

impl<'m> Apart<'m> {
    /// Contexts with room for so many tokens each, in whose decodes are so many at most.
    pub(super) fn new(worker: Worker<'m>, room: usize, batch: usize) -> Self {
        Self {
            worker,
            stage: Stage::Unmade,
            streams: None,
            reader: None,
            pieces: Vec::new(),
            states: States::new(usize::MAX),
            room,
            batch,
            not_before: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.stage == Stage::Apart
    }

    /// The context of those that generate, while all are apart.
    pub(super) fn streams(&mut self) -> Option<&mut Kept<'m>> {
        if self.is_on() { self.streams.as_mut() } else { None }
    }

    /// Whether there are contexts, which the worker is told to make if not. `None` if there never will be.
    fn has_contexts(&mut self) -> Option<bool> {
        match self.stage {
            Stage::Unmade if self.worker.order(Order::Make) => self.stage = Stage::Making,
            Stage::Unmade => return None,
            Stage::Making => (),
            Stage::Together | Stage::Apart => return self.reader.is_some().then_some(true),
        }
        match self.worker.look().ok()? {
            None | Some(Done::Decoded(..)) => Some(false),
            Some(Done::Made(made)) => {
                let [streams, kept] = made?;
                self.streams = Some(streams);
                self.reader = Some(Lent { kept, batch: LlamaBatch::new(self.batch, 1) });
                self.stage = Stage::Together;
                Some(true)
            }
        }
    }

    /// What the worker has done; if that is wanted it is waited for.
    fn hear(&mut self, waits: bool) -> Heard {
        if self.pieces.is_empty() {
            return if self.reader.is_some() { Heard::Read } else { Heard::Lost };
        }
        let done = if waits { self.worker.wait().map(Some) } else { self.worker.look() };
        let heard = match done {
            Ok(Some(Done::Decoded(lent, result))) => {
                let heard = match result {
                    Ok(()) => Heard::Read,
                    Err(DecodeError::NoKvCacheSlot) => Heard::NoRoom,
                    Err(_) => Heard::Lost,
                };
                self.reader = (heard != Heard::Lost).then_some(lent);
                heard
            }
            Ok(None | Some(Done::Made(_))) => Heard::Nothing,
            Err(_) => Heard::Lost,
        };
        if matches!(heard, Heard::NoRoom | Heard::Lost) {
            self.pieces.clear();
        }
        heard
    }

    /// Who generated on a sequence is over; the engine's own context holds its chat, as far as there is room.
    pub(super) fn leave(&mut self, sequence: Sequence, main: &mut Kept<'m>) {
        if let Some(streams) = &mut self.streams {
            main.take_over(sequence, streams, &mut self.states);
            streams.empty(sequence);
        }
    }

    /// Nobody is in these contexts any more.
    pub(super) fn clear(&mut self) {
        self.hear(true);
        self.pieces.clear();
        if self.is_on() {
            self.stage = Stage::Together;
        }
        self.states = States::new(usize::MAX);
        if let Some(streams) = &mut self.streams {
            streams.empty_all();
        }
        if let Some(Lent { kept, .. }) = &mut self.reader {
            kept.empty_all();
        }
    }
}

#[cfg(test)]
mod tests;
