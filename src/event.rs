//! The events of a session, and the texts that a screen shows of them.
//!
//! A [`Subscription`] or a turn's [`events`](crate::Turn::events) gives [`StreamItem`]s: each is a [`SessionEvent`], a
//! piece of streaming text, or notice that the reader fell behind. An event that tells of a message or an outcome comes
//! only after the store has it. A reader that comes back goes on behind an [`EventCursor`], and behind a [`FeedCursor`] to
//! the very event. [`plain`], [`quoted`] and [`editable`] make text of a model or tool safe for a
//! terminal.

pub use madang_actors::{
    protocol::{
        ChatMessage, CompletionId, Content, Ending, EntryOrigin, EventCursor, EventKind,
        FeedCursor, FeedEpoch, InvalidCursor, Notice, SessionEvent, TurnEnding, editable,
        is_visible, plain, quoted, quoted_up_to,
    },
    session::{StreamItem, Subscription},
};
