//! What an engine has done so far.

/// What an engine has done since it was started, and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineStats {
    /// Decodes.
    pub decodes: u64,
    /// Tokens of prompts that were read.
    pub prompt_tokens_evaluated: u64,
    /// Tokens of these that the prefill worker read.
    pub prefill_worker_tokens: u64,
    /// How often completions and prompts moved to split contexts for that.
    pub splits: u64,
    /// Tokens of prompts that were known from before.
    pub prompt_tokens_reused: u64,
    /// Tokens that were generated.
    pub tokens_generated: u64,
    /// Completions that began.
    pub completions: u64,
    /// Chats that moved to memory.
    pub swapped_out: u64,
    /// Chats that came back from memory.
    pub restored: u64,
    /// Chats that were forgotten because there was no room for them in memory.
    pub forgotten: u64,
    /// Completions that gave up their place for others and had to read again.
    pub preempted: u64,
    /// Completions that run now.
    pub running: usize,
    /// Sessions that rest in the context.
    pub resting_sessions: usize,
    /// Beginnings that several chats have in common and that are kept in the context.
    pub common_beginnings: usize,
    /// Sessions that rest in memory.
    pub swapped_sessions: usize,
    /// Bytes of these.
    pub swapped_bytes: usize,
}
