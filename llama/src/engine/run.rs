//! A completion while it runs: which tokens its sequence is to hold, and how many of them it holds.

use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionRequest, FinishReason, Usage},
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    plan::DecodeRequest,
    scope::{Held, Owner},
    sequence::Sequence,
    steps::Kind,
};
use crate::answer::Answer;

/// A completion that runs.
pub(super) struct ActiveCompletion {
    pub(super) request: CompletionRequest,
    /// Whose chat it goes on with.
    pub(super) owner: Owner,
    pub(super) deltas: Deltas,
    pub(super) cancel: [CancellationToken; 2],
    pub(super) reply: oneshot::Sender<Result<Completion, ModelError>>,
    pub(super) answer: Answer,
    /// Messages for which there was no room in the prompt.
    pub(super) left_out: u32,
    /// The prompt, and what was generated behind it.
    pub(super) tokens: Vec<Held>,
    /// How many of them are the prompt.
    pub(super) prompt: usize,
    /// How many of them its sequence holds.
    pub(super) held: usize,
    /// None while it waits for a place, or for what another one reads.
    pub(super) sequence: Option<Sequence>,
    pub(super) waits: WaitReason,
    pub(super) context: ContextKind,
    /// It reads, instead of generating.
    pub(super) reads: bool,
    /// The number of the decode in which it last took part.
    pub(super) last_served: u64,
    /// Numbers the completions as they began.
    pub(super) began: u64,
    pub(super) usage: Usage,
    /// Set when it is over.
    pub(super) end: Option<Result<FinishReason, ModelError>>,
}

/// What a completion without a sequence waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// Nothing: it takes the next free sequence.
    No,
    /// Another one reads what both begin with; as soon as that holds so many tokens, they are shared.
    ForCommon { reader: Sequence, tokens: usize },
    /// It gave up its place, and goes on when another completion is over.
    ForRoom,
}

/// In which context a completion goes on. In the main one it has its sequence wherever it is; elsewhere it has the
/// same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKind {
    /// The main context.
    Main,
    /// The one of completions that generate beside the prefill worker.
    Streams,
    /// The one of the prefill worker.
    Prefill,
}

impl ActiveCompletion {
    pub(super) fn is_unwanted(&self) -> bool {
        self.cancel.iter().any(CancellationToken::is_cancelled)
    }

    /// What it waits to have decoded; `None` without a sequence.
    pub(super) fn decode_request(&self, run: usize) -> Option<DecodeRequest> {
        self.sequence?;
        let tokens = self.tokens.len() - self.held;
        Some(DecodeRequest { run, tokens, reads: self.reads, last_served: self.last_served })
    }

    /// In which decode of the engine's thread it takes part, while the contexts are split or not.
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

    /// So many tokens of its prompt are to be read before its last one, behind which it generates.
    pub(super) const fn unread(&self) -> usize {
        if self.reads { self.tokens.len().saturating_sub(self.held + 1) } else { 0 }
    }

    /// Its sequence holds so many of its tokens now.
    pub(super) fn holds(&mut self, held: usize) {
        self.held = held;
        let read = u32::try_from(held.min(self.prompt)).unwrap_or(u32::MAX);
        self.usage.prompt_tokens = self.usage.prompt_tokens.max(read);
    }

    /// It gives up its place. All its tokens are read again when it has one.
    pub(super) fn loses_place(&mut self, waits: WaitReason) -> Option<Sequence> {
        self.held = 0;
        self.reads = true;
        self.waits = waits;
        self.context = ContextKind::Main;
        self.sequence.take()
    }
}
