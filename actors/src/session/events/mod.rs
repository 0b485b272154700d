//! The events of a session: published once, read by each subscriber at its own pace.
//!
//! The session publishes into one [`Feed`](feed::Feed), a ring of events beside the text that is being streamed. A
//! [`Subscription`](subscription::Subscription) is a cursor into that ring, not a queue: a slow reader costs its own
//! position. A reader that falls behind the ring gets [`StreamItem::Lagged`](subscription::StreamItem::Lagged), and then
//! what the store keeps of the missed events, through [`Replay`](replay::Replay).
//!
//! Invariants:
//! - Each event says by its [`Durability`](feed::Durability) whether the store has what it tells. Only those advance the
//!   cursor, which therefore stays the same over sleep and restart.
//! - A reader gets each stored event once and in order, from the ring or from the store.
//! - A reader that comes back behind what this very feed told it is told no event of it again.
//! - Publishing never waits for a reader.

pub(super) mod feed;
mod progress;
pub(super) mod replay;
pub(super) mod subscription;
#[cfg(test)]
mod tests;
