//! How a session comes into memory, stays there and leaves it.

pub(crate) mod handover;
pub(crate) mod idle;
pub(crate) mod registry;
pub(crate) mod registry_state;
pub(crate) mod slot;
pub(crate) mod state_cell;
pub(crate) mod wake;
