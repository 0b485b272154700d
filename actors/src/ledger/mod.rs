//! The ledger: the steps of a tool call, the chain of hashes that shows every change, and the seals
//! of a person's decisions. Pure, except that salts and keys are random.
//!
//! A call takes a [`Transition`] from one [`CallState`] to the next. Each transition becomes a
//! [`Link`]. Its hash covers the link before it and the [hash of the step](step_hash), which covers
//! a [`Salt`] and the step. [`verify`] follows the links up to a [`ChainEnd`]. An approval, and the
//! owner of a session, have a [`Seal`] under a key that is not in the database.
//!
//! Invariants:
//! - A call has exactly one outcome, and ends in `Ended`. Its handler begins once, with `Running`.
//! - An approval is bound to a digest of what was shown, and is used once.
//! - Only hashes are left of the text of a forgotten user.

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
