//! Serves many completions from one context. Each step decodes a token of every stream, and then a
//! part of the unread prompts.
//!
//! The parts with effects: `thread` waits for completions, and `prompts` writes their prompts in
//! the order of `fair`. `steps` does one decode after another, and `assignment` gives sequences.
//! `cache` keeps resting chats in a `kv_context` or in memory. `prefill_worker` reads long prompts
//! in a context of its own.
//!
//! The pure parts: `chat_room` chooses how many tokens a chat may have, by what the model was
//! trained for and by free memory. `plan` and `prefill_budget` fill the next decode. `slots`,
//! `prefixes` and `swapped` track where each chat rests, and `scope` says which chats may share.
//! Only `states` is unsafe: it copies chats between context and memory.
//!
//! Invariants:
//! - A chat shares only with chats of its scope.
//! - No prompt waits forever.
//! - A decode is done whole or not at all.

mod assignment;
mod cache;
mod chat_room;
mod fair;
mod generator;
mod kv_context;
mod load;
mod plan;
mod prefill_budget;
mod prefill_worker;
mod prefixes;
mod prompts;
mod request;
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
pub(super) use request::EngineRequest;
pub use stats::EngineStats;
pub(super) use thread::{Loaded, start};

#[cfg(test)]
mod tests {
    mod alike;
    pub(super) mod listening;
}
