//! Reads long prompts in a context of their own, while streams use another one. Each side has half
//! of the threads, so neither waits for the other. A prompt that was read continues in the main
//! context.
//!
//! One context cannot do both, because its threads take turns. More threads than cores would not
//! help: they wait by spinning, and nothing would progress.
//!
//! - `when` decides by the running completions whether the contexts split or join.
//! - `turns` is the engine's part. It moves chats between the contexts, plans the worker's decodes
//!   and takes its results.
//! - `thread` is the other side. It makes the contexts, and decodes in the context that it is lent.
//!
//! ```text
//! Unmade --order--> Making --made--> Together --a long prompt beside streams--> Split
//!                                       ^----------nothing to read, or no room----'
//! ```
//!
//! Invariants:
//! - A context is on one thread at a time: the worker has it, or the engine.
//! - Only the main context knows where chats rest. A sequence has the same number in every context.
//! - If the worker fails or dies, prompts continue in the main context from the tokens known
//!   before.

mod thread;
mod turns;
mod when;

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch};
use tracing::error;

use super::{kv_context::KvContext, load::Keeps, sequence::Sequence, states::States};
use thread::{Decoded, Lent, Order, WorkerReply};

pub(super) use thread::{Make, ThreadHandle, channel};
pub(super) use when::Room;

/// The split contexts, and the chats in them.
pub(super) struct PrefillWorker<'m> {
    thread: ThreadHandle<'m>,
    stage: Stage,
    /// The context of the streams.
    streams: Option<KvContext<'m>>,
    /// The context of prompts, unless the worker has it.
    reader: Option<Lent<'m>>,
    /// The pieces that the worker decodes or has decoded.
    pieces: Vec<Piece>,
    /// Copies chats from one context to another.
    states: States,
    /// The room of the contexts.
    room: Room,
    /// The tokens of one piece.
    piece: usize,
    /// The decode before which all completions stay together.
    not_before: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The contexts do not exist yet; making them may take long and much memory.
    Unmade,
    /// The worker makes them.
    Making,
    /// No chat is in them.
    Together,
    /// Streams are in one of them, prompts in the other.
    Split,
}

/// The part of a prompt in a decode of the worker.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// The index of the batch.
    batch: usize,
    /// The number of its completion, which may have ended meanwhile.
    began: u64,
    sequence: Sequence,
    tokens: usize,
}

/// The result of the worker's decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// They are not done.
    Nothing,
    /// As much as was wanted was read, or nothing was to be read.
    Read,
    /// The context had no room for all of it.
    NoRoom,
    /// It failed, and the content of the context of prompts is lost.
    Failed,
}

/// The tokens of one decode of prompts. Twice as many are not faster, and a chat that wants the
/// context would wait twice as long.
const PIECE: usize = 64;
/// Returns the number of decodes that the worker gets at once, so that it does not wait between
/// them for the engine, which looks only after its own decodes. All of them fit into most sliding
/// windows (512 tokens and more), so the chat returns after its part in the main context. If a
/// window lost the beginning, it returns whole and can no longer be shared.
const fn ahead(keeps: Keeps) -> usize {
    match keeps {
        Keeps::All | Keeps::State => 16,
        Keeps::Window => 6,
    }
}

impl<'m> PrefillWorker<'m> {
    /// Prepares contexts with this room; a decode reads at most this many tokens of prompts.
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

    /// Returns the context of the streams while the contexts are split.
    pub(super) fn streams(&mut self) -> Option<&mut KvContext<'m>> {
        if self.is_on() { self.streams.as_mut() } else { None }
    }

    /// Returns whether the contexts exist, and orders them if they do not. Returns `None` if they
    /// never will.
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

    /// Takes the worker's results. Waits for them if `waits`.
    fn receive(&mut self, waits: bool) -> Heard {
        if self.reader.is_some() {
            return Heard::Read;
        }
        if self.pieces.is_empty() {
            return Heard::Failed;
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
                        Heard::Failed
                    }
                };
                self.reader = (heard != Heard::Failed).then_some(lent);
                heard
            }
            Err(_) => Heard::Failed,
        };
        if heard == Heard::Failed {
            self.pieces.clear();
        }
        heard
    }

    /// Takes the chat of an ended completion back into the main context, as far as there is room.
    pub(super) fn leave(&mut self, sequence: Sequence, main: &mut KvContext<'m>) {
        if let Some(streams) = &mut self.streams {
            main.take_over(sequence, streams, &mut self.states);
            streams.empty(sequence);
        }
    }

    /// Empties these contexts.
    pub(super) fn clear(&mut self) {
        self.receive(true);
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
