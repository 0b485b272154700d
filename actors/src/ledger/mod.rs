//! The ledger: what may become of a tool call, the chain of hashes that shows every change, and the seals of what a person
//! decided. Pure.

mod chain;
mod digest;
mod seal;
mod transition;

pub use chain::{ChainEnd, ChainError, Link, next_hash, verify};
pub use digest::{canonical, digest, schema_digest, text_digest};
pub use seal::{KeyId, NoRandomness, Seal, SealError, SealKey, SealKeys};
pub use transition::{CallState, Ended, IllegalTransition, Proposal, Transition};
