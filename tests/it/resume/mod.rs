//! After any crash a session reopens and its turn goes on. No ended call runs again, an open
//! question is asked again, and an unknown effect goes to the person.
//!
//! `life` ends a process without ending the test: the next life opens a copy of the file as it was
//! at that moment.
//!
//! - `everywhere` ends a turn behind each of its commits, and expects the same end of all these
//!   worlds.
//! - `turns`, `calls` and `questions` test what goes on, and `inbox` that an open request stands
//!   there again.
//! - `keys` and `keyed_calls` repeat a turn or a call under its key after the crash.
//! - `resolving` tests an effect that stayed unknown, and `shutdown` an orderly end.
//! - `no_model` tests that a turn outlasts starts without a model.
//! - `unended` tests a start at which the store takes no end of a call.
//! - `sealed` tests that a writer of the file without the key makes no call run.
#![cfg(feature = "sqlite")]

mod calls;
mod everywhere;
mod inbox;
mod keyed_calls;
mod keys;
mod life;
mod no_model;
mod questions;
mod resolving;
mod sealed;
mod shutdown;
mod turns;
mod unended;
