//! What the rows of a store mean, whichever database has them.
//!
//! `value` converts between values and the texts, numbers and bytes of columns. `step` computes what a
//! step of a call adds to the ledger. Neither knows a database; each store reads and writes its rows.

pub(crate) mod step;
pub(crate) mod value;
