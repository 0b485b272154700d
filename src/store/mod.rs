//! Stores that keep chats and ledger on a disk.

pub mod sql;

pub use sql::{
    OpenError, SchemaFault, SealKeyError, SealKeyFile, SqliteOptions, SqliteStore, Trouble,
    savepoint,
};
