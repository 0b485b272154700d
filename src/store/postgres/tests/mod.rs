//! Tests of the PostgreSQL store, on a real server and the real clock: the one that `MADANG_TEST_POSTGRES`
//! names, as `scripts/postgres.sh` prints it. Without it they do nothing.
//!
//! - `contract` runs the tests that every store passes.
//! - Servers: `opening`, `one_writer`, `other_tables`, `write_faults`, `restart`. `proxy` is a way to the
//!   server that breaks.
//! - Lent transactions: `borrowers`, `left_running`, `savepoints`.
//! - Rules in the tables and pages: `ledger_rows`, `call_pages`.

#[expect(clippy::disallowed_methods, reason = "handlers do what they like")]
mod borrowers;
mod call_pages;
mod contract;
mod ledger_rows;
mod left_running;
mod one_writer;
mod opening;
mod other_tables;
mod proxy;
#[cfg(unix)]
mod restart;
mod savepoints;
mod support;
mod write_faults;
