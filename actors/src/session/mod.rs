//! SessionActor: one chat. Its turn is a pure state machine; its door and its feed are what others touch.

mod actor;
mod awake;
mod carrying_out;
mod chat;
mod door;
mod feed;
mod msg;
mod opening;
mod recover;
mod storing;
#[cfg(test)]
mod tests;
mod turn;
mod wiring;

pub use actor::SessionActor;
pub use awake::Waking;
pub use door::{Door, Doors, Sent};
pub use feed::{Feed, Item, Subscription};
pub use msg::{
    ClearError, DismissError, Outgoing, SessionMsg, SessionState, TurnEnd, TurnOptions, TurnRefused,
};
pub use opening::{OpenError, open};
pub use wiring::{History, Wiring};
