//! Tests of the SQLite store, on real files and the real clock.
//!
//! - `contract` runs the tests that every store passes.
//! - Files: `opening`, `read_only`, `private_files`, `one_writer`, `other_tables`, `damaged`,
//!   `write_faults`.
//! - Lent transactions: `borrowers`, `loans`, `left_running`, `ended`, `parts`, `savepoints`,
//!   `adversary`.
//! - Rules in the tables: `ledger_rows`, `approvals`, `owners`, `unreadable`.
//! - Commits and reads: `commits`, `call_pages`, `session_list`, `audited`, `forget`.

#[expect(clippy::disallowed_methods, reason = "handlers do what they like")]
mod adversary;
mod approvals;
mod audited;
#[expect(clippy::disallowed_methods, reason = "handlers do what they like")]
mod borrowers;
mod call_pages;
mod commits;
mod contract;
mod damaged;
mod ended;
mod forget;
mod ledger_rows;
mod left_running;
mod loans;
#[cfg(unix)]
mod one_writer;
mod opening;
mod other_tables;
mod owners;
mod parts;
#[cfg(unix)]
mod private_files;
mod read_only;
mod savepoints;
mod session_list;
mod support;
mod unreadable;
mod write_faults;
