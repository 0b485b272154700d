//! The events of a session: published once, read by each subscriber at its own pace.
//!
//! The session publishes into one [`Feed`](feed::Feed), which has a ring of events and the text
//! that is being streamed. A [`Subscription`](subscription::Subscription) is a cursor into that
//! ring, not a queue, so a slow reader costs only its own position. A reader that falls behind the
//! ring receives [`StreamItem::Lagged`](subscription::StreamItem::Lagged), and then what the store
//! keeps of the missed events, through [`Replay`](replay::Replay).
//!
//! Invariants:
//! - Each event says by its [`Durability`](feed::Durability) whether the store has what it reports.
//!   Only such events advance the cursor, which therefore stays the same over sleep and restarts.
//! - A reader receives each stored event once and in order, from the ring or from the store.
//! - A reader that comes back with the position that this feed gave it receives none of the earlier
//!   events again.
//! - Publishing never waits for a reader.

pub(super) mod feed;
mod progress;
pub(super) mod replay;
pub(super) mod subscription;
#[cfg(test)]
mod tests;
