//! After any crash a session reopens and its turn goes on: no ended call runs again, an open question is asked again,
//! and an unknown effect goes to the person.
#![cfg(feature = "sqlite")]

mod calls;
mod everywhere;
mod inbox;
mod keyed_calls;
mod keys;
mod life;
mod questions;
mod resolving;
mod sealed;
mod shutdown;
mod turns;
