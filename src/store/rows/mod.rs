//! What the rows of a store mean, whichever database has them.
//!
//! A row has [`columns`], and `chat` and `ledger` read values from them. `value` converts between values
//! and the texts, numbers and bytes of columns. `step` computes what a step of a call adds to the ledger.
//! `calls`, `session_list` and `search` read pages from rows that a store selects. None of them knows a
//! database; each store makes its statements, and reads and writes its rows.

pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod columns;
pub(crate) mod facts;
pub(crate) mod ledger;
pub(crate) mod search;
pub(crate) mod session_list;
pub(crate) mod step;
pub(crate) mod value;
