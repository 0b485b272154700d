//! The prefill worker reads long prompts in a context of its own, while completions that generate use another one. Each
//! side has half of the threads, so neither waits for the other. When a prompt is read, it goes on in the main context.
//!
//! One context cannot do that: its threads take turns whatever it decodes. And with more threads than cores nothing goes on,
//! for they wait for each other by spinning.

mod thread;
mod turns;
mod when;

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch};
use tracing::error;

use super::{kv_context::KvContext, load::Keeps, sequence::Sequence, states::States};
use thread::{Decoded, Lent, Order, WorkerReply};

pub(super) use thread::{Make, ThreadHandle, channel};
pub(super) use when::Room;

/// The contexts for it, and the chats in them.
pub(super) struct PrefillWorker<'m> {
    thread: ThreadHandle<'m>,
    stage: Stage,
    /// The context of those that generate.
    streams: Option<KvContext<'m>>,
    /// The context of prompts, when the worker does not have it.
    reader: Option<Lent<'m>>,
    /// What the worker decodes, or has decoded.
    pieces: Vec<Piece>,
    /// Copies chats from one context to another.
    states: States,
    /// For how many tokens there is room.
    room: Room,
    /// So many tokens are decoded at once.
    piece: usize,
    /// All stay together until so many decodes are done.
    not_before: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There are no contexts yet, which may take long to make and much memory.
    Unmade,
    /// The worker makes them.
    Making,
    /// No chat is in them.
    Together,
    /// Completions that generate are in one of them, prompts in the other.
    Split,
}

/// What a prompt has in a decode of the worker.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// In which of the batches.
    batch: usize,
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
    /// It was read, or as much as was wanted; or there was nothing to read.
    Read,
    /// There was no room for all of it.
    NoRoom,
    /// It failed, and what the context of prompts holds is lost.
    Lost,
}

/// So many tokens of prompts are read at once: twice as many are no faster, and a chat that wants the context waits half as long.
const PIECE: usize = 64;
/// The worker is given so many such pieces, that it need not wait for the engine between them: that looks for it after each
/// of its own decodes only. All together are inside of the sliding windows of most models (512 tokens and more): then they
/// return to the main context behind what is there. From behind a window a chat returns whole, and can be shared no more.
const fn ahead(keeps: Keeps) -> usize {
    match keeps {
        Keeps::All | Keeps::State => 16,
        Keeps::Window => 6,
    }
}

impl<'m> PrefillWorker<'m> {
    /// Contexts with such room; so many tokens of prompts are decoded at once, if not fewer.
    pub(super) fn new(thread: ThreadHandle<'m>, room: Room, prompt_tokens: usize) -> Self {
        Self {
            thread,
            stage: Stage::Unmade,
            streams: None,
            reader: None,
            pieces: Vec::new(),
            states: States::new(usize::MAX),
            room,
            piece: prompt_tokens.min(PIECE),
            not_before: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.stage == Stage::Split
    }

    /// The context of those that generate, while the contexts are split.
    pub(super) fn streams(&mut self) -> Option<&mut KvContext<'m>> {
        if self.is_on() { self.streams.as_mut() } else { None }
    }

    /// Whether there are contexts, which the worker is told to make if not. `None` if there never will be.
    fn has_contexts(&mut self) -> Option<bool> {
        match self.stage {
            Stage::Unmade if self.thread.order(Order::Make) => self.stage = Stage::Making,
            Stage::Unmade => return None,
            Stage::Making => (),
            Stage::Together | Stage::Split => return self.reader.is_some().then_some(true),
        }
        match self.thread.look().ok()? {
            None | Some(WorkerReply::Decoded(_)) => Some(false),
            Some(WorkerReply::Made(made)) => {
                let [streams, kv] = made?;
                self.streams = Some(streams);
                let batches = (0..ahead(kv.keeps())).map(|_| LlamaBatch::new(self.piece, 1));
                let batches = batches.collect();
                self.reader = Some(Lent { kv, count: 0, batches });
                self.stage = Stage::Together;
                Some(true)
            }
        }
    }

    /// What the worker has done; if that is wanted it is waited for.
    fn hear(&mut self, waits: bool) -> Heard {
        if self.reader.is_some() {
            return Heard::Read;
        }
        if self.pieces.is_empty() {
            return Heard::Lost;
        }
        if waits {
            self.thread.want();
        }
        let done = if waits { self.thread.wait().map(Some) } else { self.thread.look() };
        let heard = match done {
            Ok(None | Some(WorkerReply::Made(_))) => return Heard::Nothing,
            Ok(Some(WorkerReply::Decoded(Decoded { lent, count, result }))) => {
                self.pieces.retain(|piece| piece.batch < count);
                let heard = match result {
                    Ok(()) => Heard::Read,
                    Err(DecodeError::NoKvCacheSlot) => Heard::NoRoom,
                    Err(cause) => {
                        error!(%cause, "the prefill worker failed to read");
                        Heard::Lost
                    }
                };
                self.reader = (heard != Heard::Lost).then_some(lent);
                heard
            }
            Err(_) => Heard::Lost,
        };
        if heard == Heard::Lost {
            self.pieces.clear();
        }
        heard
    }

    /// The completion on a sequence is over; the main context holds its chat, as far as there is room.
    pub(super) fn leave(&mut self, sequence: Sequence, main: &mut KvContext<'m>) {
        if let Some(streams) = &mut self.streams {
            main.take_over(sequence, streams, &mut self.states);
            streams.empty(sequence);
        }
    }

    /// No chat is in these contexts any more.
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
        if let Some(Lent { kv, .. }) = &mut self.reader {
            kv.empty_all();
        }
    }
}

#[cfg(test)]
mod tests;
