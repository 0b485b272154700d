//! SessionActor: one chat. Its turn is a pure state machine; its slot and its feed are what others touch.

mod actor;
mod context;
mod events;
mod lifecycle;
mod msg;
mod prompt;
mod state;
#[cfg(test)]
mod tests;
mod transcript;
mod turn;

pub use actor::SessionActor;
pub use context::{History, Wiring};
pub use events::{
    feed::{Durability, Feed},
    subscription::{StreamItem, Subscription},
};
pub use lifecycle::{
    registry::SessionRegistry,
    slot::{Begun, Sent, SessionSlot},
    state_cell::StateHolder,
    wake::{OpenError, WakePolicy, open},
};
pub use msg::{
    Asked, ClearError, DismissError, Outgoing, SessionMsg, SessionView, TurnEnd, TurnRefused,
};
pub use state::{Resumption, SessionState, WakeSnapshot};
pub use turn::effect_resolution::{ResolveError, resolve};
