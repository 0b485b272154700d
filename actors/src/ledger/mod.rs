//! The ledger: what may become of a tool call, and the chain of hashes that shows every change. Pure.

mod chain;
mod digest;
mod transition;

pub use chain::{ChainEnd, ChainError, Link, next_hash, verify};
pub use digest::{canonical, digest, schema_digest, text_digest};
pub use transition::{CallState, Ended, IllegalTransition, Proposal, Transition};
