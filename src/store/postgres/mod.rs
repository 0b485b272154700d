//! Keeps chats and ledger in a PostgreSQL database, which toolkits and the application may share.
//!
//! ```no_run
//! # use madang::store::{PostgresOpenError, PostgresStore};
//! # async fn example() -> Result<(), PostgresOpenError> {
//! let store = PostgresStore::options("postgres://madang@localhost/app").open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - `store` implements the port, with what all its clones share (`shared`).
//! - Opening: `options` connects, `server` looks at the server, `schema` creates the tables, and `claim`
//!   takes the database for this process.
//! - Writing: `transaction` implements the port on a connection of a `pool`. `write` applies facts to the
//!   `book` of what they rest on (`look_up`, `held`), `link` repeats a step's text in columns, and `changes` writes all rows
//!   by one call of a function of the database.
//! - Doubt: after a commit whose result is not known, `doubt` waits for its end before anybody reads.
//! - Lending: `managed` begins transactions so that a borrower's own are parts of them, and `savepoint` is
//!   a part that a borrower may undo.
//! - Reading: `read` asks the questions of the port, and `row` gives `store::rows` the columns of what
//!   comes back. `calls` selects from the ledger, `session_list` lists a user's chats, and `audit` reads
//!   for an audit.
//! - Erasing: `erase` removes the texts of a temporary chat, `delete` a session, and `forget` a user.
//!
//! Invariants:
//! - Each transaction that writes for a user changes the user's row under the claim of this process, or is
//!   undone. Locks are taken in one order: users by their names, then their sessions.
//! - A connection on which something may still run is closed, and never lent again.
//! - No statement that is sent on a lent connection has a name.
//! - The database reads no stored JSON. Triggers enforce the ledger's rules, whichever program writes the
//!   SQL.

mod audit;
mod book;
mod calls;
mod changes;
mod claim;
mod delete;
mod doubt;
mod erase;
mod error;
mod forget;
mod held;
mod link;
mod look_up;
mod managed;
mod open;
mod options;
mod own;
mod pool;
mod read;
mod row;
mod savepoint;
mod schema;
mod search;
mod server;
mod session_list;
mod shared;
mod store;
mod transaction;
mod write;

#[cfg(test)]
mod tests;

pub use error::PostgresOpenError;
pub use options::PostgresOptions;
pub use savepoint::pg_savepoint;
pub use store::PostgresStore;
