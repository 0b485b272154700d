//! Stores: what keeps chats and ledger. [`SqliteStore`] keeps them on a disk; others implement [`Store`].

#[cfg(feature = "sqlite")]
pub mod sql;

pub use madang_actors::port::{Reader, Store, StoreError, Transaction};
#[cfg(feature = "sqlite")]
pub use sql::{
    OpenError, SchemaFault, SealKeyError, SealKeyFile, SqliteOptions, SqliteStore, WriteFault,
    savepoint,
};
