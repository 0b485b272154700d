//! The vocabulary of the port [`Store`]: the facts that a store writes and the rows that it gives back.
//!
//! An application needs it only to write a store of its own. Pure functions beside the types compute what is not the
//! store's choice: a step makes of a row what [`LedgerRow::after`] says, a chain continues by [`next_hash`], and a fact
//! counts against a user's room what [`stored_bytes`] says. So every store answers alike.

pub use madang_actors::{
    ledger::{
        CallState, ChainEnd, ChainError, Ended, ErasedChain, IllegalTransition, KeyId, Link,
        NoRandomness, Proposal, Salt, Seal, SealError, SealKey, SealKeys, Transition, canonical,
        digest, next_hash, schema_digest, text_digest, verify,
    },
    port::{
        BoxFuture, ConnectionType, Damaged, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, Occupied, OpenTurn, Owner, ROW_BYTES, Reader,
        RecordedDecision, SelectedCalls, SessionLedger, SessionPage, SessionRow, SessionSummary,
        Store, StoreError, StoredEnd, StoredEntry, StoredSession, StoredTurn, SubmittedTurn,
        Transaction, TranscriptPart, TranscriptRow, TurnStep, Write, session_title, stored_bytes,
        stored_turn_bytes,
    },
};
