//! SQLite by sqlx: chats and ledger in one file, into which toolkits and embedder may write in the same transactions.
//!
//! Transaction control is SQL text of our own on a plain connection (`writer`), watched by a commit hook that vetoes
//! every commit but the writer's.

mod audit;
mod authorizer;
mod cut_off;
mod database_file;
mod error;
mod forget;
mod inspect;
mod key_file;
mod lock;
mod options;
mod own;
mod private;
mod read;
mod readers;
mod row;
mod savepoint;
mod schema;
mod script;
mod step;
mod store;
mod temporary;
mod transaction;
mod write;
mod writer;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use error::{OpenError, WriteFault};
pub use key_file::{SealKeyError, SealKeyFile};
pub use options::SqliteOptions;
pub use savepoint::savepoint;
pub use schema::SchemaFault;
pub use store::SqliteStore;

/// How long a statement waits for another process that has the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Prepared statements that a connection keeps: the store's own and those of a few toolkits.
const STATEMENTS: usize = 256;
