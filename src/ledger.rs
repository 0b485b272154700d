//! The record of every tool call: its arguments, its approval, its effect.
//!
//! [`Runtime::ledger`](crate::Runtime::ledger) returns the [`LedgerRow`]s that a [`LedgerFilter`]
//! selects. The steps of a session's calls form a chain of hashes, and approvals are sealed with
//! [`SealKeys`].

pub use madang_actors::{
    ledger::{CallState, ErasedChain, KeyId, NoRandomness, Seal, SealError, SealKey, SealKeys},
    port::{
        AuditError, Audited, Damaged, Forget, ForgetError, Forgotten, LedgerFilter, LedgerRow,
        Owner, RecordedDecision, SelectedCalls, SessionLedger,
    },
    protocol::{
        Approval, CallRecord, CallResult, Effect, EffectResolution, ResolvedBy, ResolvedCall, Shown,
    },
};
