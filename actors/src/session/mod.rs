//! One chat: a session that sleeps in the store, and wakes as an actor while it is used.
//!
//! A caller begins a turn by sending [`SessionRequest::Submit`] through the session's [`SessionSlot`].
//! A session that sleeps is loaded first (`lifecycle::wake`). The actor stores the user's message,
//! and `turn::machine` decides after each input what comes next: ask the model, record the calls,
//! dispatch them, end. `turn::effects` carries out each decision. What the store has taken is then
//! published in the [`Feed`], and each [`Subscription`] reads it at its own pace.
//!
//! - `request`: what callers ask of a session, and its answers. `msg`: what its actor receives.
//!   `actor` and `state`: the shell, and what an awake session holds. `outbox` sends what the
//!   session has decided. `clear` clears the chat, and `import` begins it with a history.
//! - `turn`: the machine, its effects, and the recovery of a turn that was left open.
//! - `events`: the feed, its readers, and the replay of what they missed from the store.
//! - `lifecycle`: the registry, the slot, creating, waking, idling, and how a turn goes on after
//!   its actor was lost.
//! - `transcript`, `prompt`: the entries and their order, and what the model reads of them. `view`:
//!   the page of them that a screen shows.
//!
//! Invariants:
//! - At most one actor appends to a transcript: a session wakes only after all that an earlier
//!   actor began has ended.
//! - An entry, an outcome or the end of a turn is published only after the store has it.
//! - A round's calls are recorded before any of them begins.
//! - The store is written in the order in which the actor decides.

mod actor;
mod clear;
mod context;
mod error;
mod events;
mod import;
mod lifecycle;
mod msg;
mod outbox;
mod prompt;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod transcript;
mod turn;
mod view;

pub use actor::SessionActor;
pub use context::RuntimeContext;
pub use error::{Error, UnknownTimeZone};
pub use events::{
    feed::{Durability, Feed, FeedBounds},
    subscription::{StreamItem, Subscription},
};
pub use import::check_import;
pub use lifecycle::{
    create::create,
    delete::delete,
    go_on::go_on,
    lost::LostSessions,
    place::WakePolicy,
    refusal::WakeError,
    registry::SessionRegistry,
    slot::{Begun, Sent, SessionSlot},
    wake::{open, send},
};
pub use msg::{Outgoing, Resumption, SessionMsg};
pub use prompt::prompt_entry;
pub use request::{
    DismissalStored, RunningTurn, SessionRequest, SessionView, TurnEnd, TurnRequest, When,
};
pub use state::{SessionState, WakeSnapshot};
pub use turn::begin::check_lengths;
pub use turn::effect_resolution::resolve;
pub use view::ViewPage;
