//! What moves a session in the list of its user's chats.

use madang_actors::protocol::Content;

/// What moves a session in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// A message of the user, which also puts the session on the list.
    UserMessage,
    /// Another message, or the end of a turn.
    Other,
}

impl Activity {
    pub(super) const fn of(content: &Content) -> Self {
        match content {
            Content::User { .. } => Self::UserMessage,
            Content::Model { .. }
            | Content::ToolCall(_)
            | Content::Notice { .. }
            | Content::Cleared => Self::Other,
        }
    }
}
