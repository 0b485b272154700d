//! The events of a session, and how to show their texts on a screen.
//!
//! A [`Subscription`] or the [`events`](crate::Turn::events) of a turn return [`StreamItem`]s. Each
//! is a [`SessionEvent`], a piece of streaming text, or a notice that the reader fell behind. The
//! event of a message or an outcome is published only after the store has it. A reader that
//! reconnects continues after an [`EventCursor`], or after a [`FeedCursor`], which is exact to the
//! event. [`plain`], [`quoted`] and [`editable`] make the text of a model or tool safe for a
//! terminal.

pub use madang_actors::{
    protocol::{
        ChatMessage, CompletionId, Content, Ending, EntryOrigin, EventCursor, EventKind,
        FeedCursor, FeedEpoch, InvalidCursor, Notice, SessionEvent, TurnEnding, editable,
        is_visible, plain, quoted, quoted_up_to,
    },
    session::{StreamItem, Subscription},
};
