//! The ledger: the steps of a tool call, the chain of hashes that shows every change, and the seals of a person's
//! decisions. Pure.
//!
//! A call takes a [`Transition`] from one [`CallState`] to the next. Each transition becomes a [`Link`]: its hash
//! covers the link before it and the [hash of the step](step_hash), which covers a [`Salt`] and the step. [`verify`] walks the links up to a [`ChainEnd`]. An approval,
//! and the owner of a session, carry a [`Seal`] under a key that is not in the database.
//!
//! Invariants: a call has exactly one outcome, and ends in `Ended`. A handler begins once, with `Running`. An approval
//! is bound to a digest of what was shown and is used once. The text of a forgotten user leaves hashes only.

mod approval_seal;
mod chain;
mod digest;
mod erased;
mod seal;
mod transition;

pub use chain::{ChainEnd, ChainError, Link, Salt, next_hash, step_hash, verify};
pub use digest::{canonical, digest, schema_digest, text_digest};
pub use erased::ErasedChain;
pub use seal::{KeyId, NoRandomness, Seal, SealError, SealKey, SealKeys};
pub use transition::{CallState, Ended, IllegalTransition, Proposal, Transition};
