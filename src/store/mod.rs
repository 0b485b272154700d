//! Stores: they keep the chats and the ledger. [`SqliteStore`] keeps them in a file; others
//! implement [`Store`].
//!
//! The runtime sends every write to one queue. A writer takes what waits, writes it in one
//! [`Transaction`], commits once, and only then answers. A transactional tool borrows that
//! transaction for its own tables, so its rows and its ledger entry are committed together.
//! [`savepoint`] lets such a tool undo a single step of its own.
//!
//! [`User::sessions`](crate::User::sessions) lists a user's chats: a [`SessionPage`] of
//! [`SessionSummary`]s. [`User::search`](crate::User::search) finds texts in them: a [`SearchPage`]
//! of [`SearchHit`]s.
//!
//! Invariants of each store:
//! - An acknowledged write is durable, and a refused write leaves nothing.
//! - A ledger's chain only grows, and a call takes only the steps that its state allows.
//! - A borrower of a connection reads and writes only its own tables.
//!
//! The module [`port`] contains the types for writing a store of your own, and
//! `madang_testing::store_contract!` tests it against these invariants.
//!
//! ```
//! # use madang::store::SqliteStore;
//! # async fn example() -> Result<(), madang::store::OpenError> {
//! let store = SqliteStore::open("chats.db").readers(8).await?;
//! # Ok(())
//! # }
//! ```

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod files;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod key_file;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod keys;
pub mod port;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod rows;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use madang_actors::port::{
    Excerpt, InvalidPageSize, InvalidSearch, InvalidSearchCursor, InvalidSessionCursor,
    InvalidTitle, Reader, SearchBounds, SearchCursor, SearchHit, SearchPage, SearchQuery,
    SearchText, SessionCursor, SessionPage, SessionSummary, SessionTitle, Store, StoreError,
    TextRole, Transaction,
};
/// The version of sqlx with which tools and migrations of an application are written.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use sqlx;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use key_file::{SealKeyError, SealKeyFile};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOpenError, PostgresOptions, PostgresStore, pg_savepoint};
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, SchemaFault, SqliteOptions, SqliteStore, WriteFault, savepoint};
