//! The ports: what an application implements. A model, tools, a store, a clock, and the pure rules
//! that every store follows.
//!
//! The traits [`ChatModel`], [`Tool`], [`Store`] and [`Clock`] are object-safe, with boxed futures.
//! A runtime calls them, and they never call a runtime. The module also has the facts that a store
//! writes ([`Write`]) and the rows that it returns ([`LedgerRow`], [`StoredSession`],
//! [`OpenTurn`]).
//!
//! Invariants: what a step makes of a call's row is computed here, so that every store answers
//! alike. So are what an audit finds, and what a row counts against a user's room. No port knows an
//! actor.

mod audit;
mod call_step;
mod cancelled;
mod clock;
mod forget;
mod ledger_filter;
mod model;
mod occupancy;
mod poll_before_park;
mod progress;
mod recorded_decision;
mod resource;
mod room;
mod search;
mod session_list;
mod session_title;
mod store;
mod store_error;
mod tool;
mod transcript;
mod turn;
mod user_weights;

use std::{future::Future, pin::Pin};

pub use audit::{AuditError, Audited, Damaged, Owner, SessionLedger};
pub use cancelled::{Cancelled, CancelledBy};
pub use clock::{Clock, SystemClock};
pub use forget::{Forget, ForgetError, Forgotten};
pub use ledger_filter::{LedgerFilter, SelectedCalls};
pub use model::{Caveat, ChatModel, Deltas, ModelError, ModelInfo, Unconstrained};
pub use occupancy::{Occupancy, Occupied};
pub use poll_before_park::poll_before_park;
pub use progress::ProgressReporter;
pub use recorded_decision::RecordedDecision;
pub use resource::Resource;
pub use room::{ROW_BYTES, erased_bytes, stored_bytes, stored_turn_bytes};
pub use search::{
    Excerpt, InvalidSearch, InvalidSearchCursor, SearchBounds, SearchCursor, SearchHit, SearchPage,
    SearchQuery, SearchText, TextRole, UnfinishedSearch,
};
pub use session_list::{
    InvalidPageSize, InvalidSessionCursor, SessionCursor, SessionPage, SessionSummary,
    session_title,
};
pub use session_title::{InvalidTitle, SessionTitle};
pub use store::{
    ConnectionType, LedgerRow, Reader, SessionRow, Store, StoredSession, TemporaryChat,
    Transaction, Write,
};
pub use store_error::StoreError;
pub use tool::{Access, Extensions, Need, Prepared, Tool, ToolContext, ToolFault, ToolResult};
pub use transcript::{PartSize, StoredEntry, TranscriptPart, TranscriptRow, UnfinishedPart};
pub use turn::{InterruptedSession, OpenTurn, StoredEnd, StoredTurn, SubmittedTurn, TurnStep};
pub use user_weights::UserWeights;

/// The future that a method of a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
