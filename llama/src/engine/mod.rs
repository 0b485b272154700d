//! Serves many completions from one context: each step decodes a token of every one that generates, and then a part of
//! the prompts that are still to be read.
//!
//! The shell is `thread` (waits for completions), `prompts` (writes their prompts beside it, in the order of `fair`),
//! `steps` (one decode after the other), `places` (who takes part), `cache`
//! (who rests where), `kv_context` (a context, and what it holds) and `apart` (long prompts in a context of their own). What decides is pure: `plan` and `pace` say what goes into a decode, `slots`,
//! `prefixes` and `parked` who rests where, `scope` who may share. `states` alone is unsafe: it copies chats into memory that it has already.

mod apart;
mod cache;
mod fair;
mod kv_context;
mod load;
mod pace;
mod parked;
mod places;
mod plan;
mod prefixes;
mod prompts;
mod run;
mod scope;
mod sequence;
mod slots;
mod speaker;
mod states;
mod stats;
mod steps;
mod thread;

pub(super) use prompts::{Asked, Refused};
pub use stats::EngineStats;
pub(super) use thread::{Job, Started, start};

#[cfg(test)]
mod tests {
    mod alike;
    pub(super) mod listening;
}
