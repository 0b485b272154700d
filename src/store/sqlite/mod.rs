//! Keeps chats and ledger in one SQLite file, which toolkits and the application may share.
//!
//! ```
//! # use madang::store::SqliteStore;
//! # async fn example() -> Result<(), madang::store::OpenError> {
//! let store = SqliteStore::open("app.db").shared_with_embedder().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - Opening: `options` resolves the path (`database_file`), locks it (`lock`), looks at the file
//!   (`inspect`, `private`), creates the tables (`schema`) and finds the seal keys (`key_file`).
//! - Writing: `transaction` implements the port on the one writing connection (`writer`). `write`
//!   turns facts into a `script` of statements, and `step` writes a call's step, a link of the chain.
//! - Lending: `authorizer` keeps a borrower to its own tables, `cut_off` interrupts it after its
//!   deadline, and `savepoint` is a part that it may undo.
//! - Reading: `readers` lends connections that cannot write, `read` asks the questions of the port,
//!   and `row` gives `store::rows` the columns of what comes back. `calls` selects from the ledger,
//!   `session_list` lists a user's chats, and `audit` reads for an audit.
//! - Erasing: `erase` removes the texts of a temporary chat, and `forget` removes a user.
//!
//! Invariants:
//! - The writer sends `BEGIN` and `COMMIT` as SQL text on a plain connection, and a commit hook
//!   vetoes any other commit.
//! - Triggers enforce the ledger's rules, whichever program writes the SQL.
//! - This process opens the file only through SQLite, because closing it otherwise would drop the
//!   locks.

mod audit;
mod authorizer;
mod call_head;
mod calls;
mod cut_off;
mod database_file;
mod delete;
mod erase;
mod error;
mod forget;
mod inspect;
mod lock;
mod open;
mod options;
mod own;
mod private;
mod read;
mod readers;
mod row;
mod savepoint;
mod schema;
mod script;
mod search;
mod session_list;
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
pub use options::SqliteOptions;
pub use savepoint::savepoint;
pub use schema::SchemaFault;
pub use store::SqliteStore;

/// How long a statement waits for another process that has the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Prepared statements that a connection keeps: the store's own and those of a few toolkits.
const STATEMENTS: usize = 256;
