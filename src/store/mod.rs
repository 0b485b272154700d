//! Stores that keep chats and ledger on a disk.

mod beside;
pub mod sql;

pub use beside::Beside;
pub use sql::{
    OpenError, SchemaFault, SealKeyError, SealKeyFile, SqliteOptions, SqliteStore, Trouble,
    savepoint,
};
