//! The way to open a store.

use super::{PostgresOptions, PostgresStore};

impl PostgresStore {
    /// Returns options that [open](PostgresOptions::open) the database of this URL:
    /// `postgres://user:password@host:port/database`, with the parameters that sqlx knows, e.g.
    /// `?sslmode=verify-full`.
    pub fn options(url: impl Into<String>) -> PostgresOptions {
        PostgresOptions::of(url.into())
    }
}
