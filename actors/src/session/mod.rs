//! SessionActor: one chat. Its turn is a pure state machine; its door and its feed are what others touch.

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
    feed::{Feed, Told},
    subscription::{Item, Subscription},
};
pub use lifecycle::{
    registry::Doors,
    slot::{Begun, Door, Sent},
    state_cell::StateHolder,
    wake::{OpenError, Place, open},
};
pub use msg::{
    Asked, ClearError, DismissError, Outgoing, SessionMsg, SessionState, TurnEnd, TurnRefused,
};
pub use state::{Awake, Resumption, Waking};
pub use turn::effect_resolution::{SettleError, settle};
