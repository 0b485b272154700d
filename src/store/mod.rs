//! Stores that keep chats and ledger on a disk.

pub mod sql;

pub use sql::{OpenError, SqliteOptions, SqliteStore, Trouble, savepoint};
