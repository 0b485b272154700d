//! Serves many completions from one context: each step decodes a token of every one that generates, and then a part of
//! the prompts that are still to be read.
//!
//! The shell is `thread` (waits for completions), `prompts` (writes their prompts beside it, in the order of `fair`),
//! `steps` (one decode after the other), `places` (gives sequences), `cache` (chats that rest), `kv_context` (a context,
//! and what it holds) and `prefill_worker` (long prompts in a context of their own). What decides is pure: `plan` and
//! `prefill_budget` say what goes into a decode, `slots`, `prefixes` and `swapped` which chat rests where, and `scope`
//! which chats may share. `states` alone is unsafe: it copies chats into memory that it has already.

mod cache;
mod fair;
mod generator;
mod kv_context;
mod load;
mod places;
mod plan;
mod prefill_budget;
mod prefill_worker;
mod prefixes;
mod prompts;
mod run;
mod scope;
mod sequence;
mod slots;
mod states;
mod stats;
mod steps;
mod swapped;
mod thread;

pub(super) use prompts::{Asked, Refused};
pub use stats::EngineStats;
pub(super) use thread::{EngineRequest, Started, start};

#[cfg(test)]
mod tests {
    mod alike;
    pub(super) mod listening;
}
