//! The ledger: what may become of a tool call, the chain of hashes that shows every change, and the seals of what a person
//! decided. Pure.

mod chain;
mod digest;
mod erased;
mod seal;
mod transition;

pub use chain::{ChainEnd, ChainError, Link, Salt, next_hash, verify};
pub use digest::{canonical, digest, schema_digest, text_digest};
pub use erased::ErasedChain;
pub use seal::{KeyId, NoRandomness, Seal, SealError, SealKey, SealKeys};
pub use transition::{CallState, Ended, IllegalTransition, Proposal, Transition};
