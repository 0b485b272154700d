//! The vocabulary of the port [`Store`]: the facts that a store writes and the rows that it
//! returns.
//!
//! An application needs it only to write a store of its own. What a store does not choose is
//! computed by pure functions of these types, so that every store answers alike.
//! [`LedgerRow::after`] returns the row after a step, [`next_hash`] the next link of a chain from
//! the [`step_hash`] of that step, and [`stored_bytes`] the room that a fact takes.

pub use madang_actors::{
    ledger::{
        CallState, ChainEnd, ChainError, Ended, ErasedChain, IllegalTransition, KeyId, Link,
        NoRandomness, Proposal, Salt, Seal, SealError, SealKey, SealKeys, Transition, canonical,
        digest, next_hash, schema_digest, step_hash, text_digest, verify,
    },
    port::{
        BoxFuture, ConnectionType, Damaged, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, Occupied, OpenTurn, Owner, PartSize, ROW_BYTES, Reader,
        RecordedDecision, SearchPage, SearchQuery, SelectedCalls, SessionLedger, SessionPage,
        SessionRow, SessionSummary, SessionTitle, Store, StoreError, StoredEnd, StoredEntry,
        StoredSession, StoredTurn, SubmittedTurn, TemporaryChat, Transaction, TranscriptPart,
        TranscriptRow, TurnStep, UnfinishedPart, UnfinishedSearch, Write, session_title,
        stored_bytes, stored_turn_bytes,
    },
};
