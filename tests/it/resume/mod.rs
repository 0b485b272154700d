//! After any crash a session reopens and its turn goes on: nothing that ended is run again, what was asked is asked
//! again, and what nobody can know goes to the person.
#![cfg(feature = "sqlite")]

mod calls;
mod everywhere;
mod keys;
mod life;
mod questions;
mod resolving;
mod sealed;
mod shutdown;
mod turns;
