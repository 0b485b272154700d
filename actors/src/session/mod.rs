//! SessionActor: one chat. Its turn is a pure state machine; its door and its feed are what others touch.

mod actor;
mod archive;
mod awake;
mod calling;
mod carrying_out;
mod chat;
mod dismissing;
mod door;
mod doors;
mod feed;
mod house;
mod legacy;
mod msg;
mod opening;
mod prompt;
mod recover;
mod resting;
mod resume;
mod resuming;
mod seeing_to;
mod settling;
mod state_cell;
mod storing;
mod submitting;
mod subscription;
#[cfg(test)]
mod tests;
mod turn;
mod wiring;

pub use actor::SessionActor;
pub use awake::{Awake, Resumption, Waking};
pub use door::{Begun, Door, Sent};
pub use doors::Doors;
pub use feed::{Feed, Told};
pub use msg::{
    Asked, ClearError, DismissError, Outgoing, SessionMsg, SessionState, TurnEnd, TurnRefused,
};
pub use opening::{OpenError, Place, open};
pub use settling::{SettleError, settle};
pub use state_cell::StateHolder;
pub use subscription::{Item, Subscription};
pub use wiring::{History, Wiring};
