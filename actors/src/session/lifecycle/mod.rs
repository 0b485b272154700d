//! How a session comes into memory, stays there and leaves it.
//!
//! The [`SessionRegistry`](registry::SessionRegistry) finds the one
//! [`SessionSlot`](slot::SessionSlot) of a session. The slot holds requests while the session
//! wakes, and passes them to its actor while it is awake.
//!
//! - `create` makes a session that does not exist, for the user who opens it first.
//! - `delete` erases a session that sleeps, for its user. Its slot never wakes again.
//! - `wake` loads the session, waits for what an earlier actor began, carries out the recovery of
//!   an open turn, and starts the actor. `place` finds room for it among the awake ones, and
//!   `refusal` says why it did not wake. `waiting` has the requests that wait for it.
//! - `idle` orders the sessions that may be put to sleep for others, and `sleep` lets one fall
//!   asleep.
//! - `lost` is the report of a session that lost its actor in mid-turn, and `go_on` wakes that
//!   session again. `turn_memory` is what its slot remembers of the turn.
//! - `reading` lets a reader read the session's events. `beside` answers requests while a call
//!   without a model keeps the session asleep.
//!
//! Invariants:
//! - A session has at most one slot, as long as anything holds it. The last holder removes it from
//!   the registry.
//! - No request is lost between asleep, waking and awake, because the slot decides under its lock.
//! - A turn is always recovered in the same way, whatever ended its actor or its process: its session
//!   wakes from the store.
//! - A session wakes only after all that an earlier actor began has ended in the store.
//! - No slot is dropped under a lock of the registry, because the drop takes that lock.

mod beside;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod go_on;
pub(super) mod idle;
pub(super) mod lost;
pub(super) mod place;
mod reading;
pub(super) mod refusal;
pub(super) mod registry;
pub(super) mod registry_state;
pub(super) mod sleep;
pub(super) mod slot;
pub(super) mod turn_memory;
mod waiting;
pub(super) mod wake;
