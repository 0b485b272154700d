//! The state of a running completion: the tokens for its sequence, and how many of them it holds.

use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{CompletionRequest, FinishReason, Usage},
};
use tokio_util::sync::CancellationToken;

use super::{
    plan::DecodeRequest,
    request::Reply,
    scope::{Held, Owner},
    sequence::Sequence,
};
use crate::answer::Answer;

/// A running completion.
pub(super) struct ActiveCompletion {
    pub(super) request: CompletionRequest,
    /// The owner of its chat.
    pub(super) owner: Owner,
    pub(super) deltas: Deltas,
    pub(super) cancel: [CancellationToken; 2],
    pub(super) reply: Reply,
    pub(super) answer: Answer,
    /// Messages without room in the prompt.
    pub(super) left_out: u32,
    /// The prompt and the generated tokens.
    pub(super) tokens: Vec<Held>,
    /// The number of prompt tokens.
    pub(super) prompt: usize,
    /// The number of tokens that its sequence holds.
    pub(super) held: usize,
    /// `None` while the completion waits for a sequence, or for a prompt that another one reads.
    pub(super) sequence: Option<Sequence>,
    pub(super) waits: WaitReason,
    pub(super) context: ContextKind,
    /// Whether it reads its prompt and does not generate yet.
    pub(super) reads: bool,
    /// The number of the decode in which it last took part.
    pub(super) last_decode: u64,
    /// The number of the completion, in the order of beginnings.
    pub(super) began: u64,
    pub(super) usage: Usage,
    /// Set at its end.
    pub(super) end: Option<Result<FinishReason, ModelError>>,
}

/// The reason why a completion has no sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// None: it takes the next free sequence.
    No,
    /// Another one reads a common beginning. It is shared as soon as that one holds this many
    /// tokens.
    ForCommon { reader: Sequence, tokens: usize },
    /// It gave up its sequence, and continues when another completion ends.
    ForRoom,
}

/// The context of a completion. In the main context the completion may have any sequence. In the
/// others it has the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKind {
    /// The main context.
    Main,
    /// The context of streams, next to the prefill worker.
    Streams,
    /// The context of the prefill worker.
    Prefill,
}

/// The kind of a decode. Streams are decoded separately from prompts, because flash attention sums
/// large batches in another way, and an answer must not depend on the prompts next to it. The
/// number of streams may still change the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The next tokens of the streams.
    Streams,
    /// Parts of prompts.
    Prompts,
}

impl Kind {
    /// The kinds in the order of a step.
    pub(super) const BOTH: [Self; 2] = [Self::Streams, Self::Prompts];
}

impl ActiveCompletion {
    pub(super) fn is_unwanted(&self) -> bool {
        self.cancel.iter().any(CancellationToken::is_cancelled)
    }

    /// Returns the tokens to be decoded. Returns `None` without a sequence.
    pub(super) fn decode_request(&self, run: usize) -> Option<DecodeRequest> {
        self.sequence?;
        let tokens = self.tokens.len() - self.held;
        Some(DecodeRequest { run, tokens, reads: self.reads, last_decode: self.last_decode })
    }

    /// Returns in which kind of decode on the engine's thread it takes part, while the contexts are
    /// split or not. Returns `None` if in none.
    pub(super) fn is_decoded(&self, is_split: bool) -> Option<Kind> {
        match self.context {
            ContextKind::Streams => Some(Kind::Streams),
            ContextKind::Prefill => None,
            // It moves as soon as the reader is idle.
            ContextKind::Main if is_split => None,
            ContextKind::Main if self.reads => Some(Kind::Prompts),
            ContextKind::Main => Some(Kind::Streams),
        }
    }

    /// Counts the tokens of its prompt that are unread, without the last one. After that one it
    /// generates.
    pub(super) const fn unread(&self) -> usize {
        if self.reads { self.tokens.len().saturating_sub(self.held + 1) } else { 0 }
    }

    /// Notes the tokens that its sequence holds now.
    pub(super) fn holds(&mut self, held: usize) {
        self.held = held;
        let read = u32::try_from(held.min(self.prompt)).unwrap_or(u32::MAX);
        self.usage.prompt_tokens = self.usage.prompt_tokens.max(read);
    }

    /// Takes its sequence away. All its tokens are read again in the next one.
    pub(super) fn loses_sequence(&mut self, waits: WaitReason) -> Option<Sequence> {
        self.held = 0;
        self.reads = true;
        self.waits = waits;
        self.context = ContextKind::Main;
        self.sequence.take()
    }
}
