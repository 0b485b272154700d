//! The figures of an engine.

use serde::Serialize;

/// The figures of an engine since its start, and what it holds at present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EngineStats {
    /// The number of decodes.
    pub decodes: u64,
    /// Tokens of prompts that were read.
    pub prompt_tokens_evaluated: u64,
    /// How many of these tokens the prefill worker read.
    pub prefill_worker_tokens: u64,
    /// How often the contexts split for the prefill worker.
    pub splits: u64,
    /// Tokens of prompts that were already known.
    pub prompt_tokens_reused: u64,
    /// Generated tokens.
    pub tokens_generated: u64,
    /// Completions that began.
    pub completions: u64,
    /// Chats that moved to memory.
    pub swapped_out: u64,
    /// Chats that came back from memory.
    pub restored: u64,
    /// Chats that were forgotten because memory was full.
    pub forgotten: u64,
    /// How often a completion gave up its sequence for others and had to read its tokens again.
    pub preempted: u64,
    /// Completions that run now.
    pub running: usize,
    /// Sessions that rest in the context.
    pub resting_sessions: usize,
    /// Common beginnings of several chats in the context.
    pub common_beginnings: usize,
    /// Sessions that rest in memory.
    pub swapped_sessions: usize,
    /// The bytes of these sessions.
    pub swapped_bytes: usize,
}
