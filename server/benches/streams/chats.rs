//! The names of chats and of their users, which both processes know.

/// The service that speaks for all users: it has one token.
pub(crate) const SERVICE: &str = "bench";

/// Chats of one user.
const OF_A_USER: usize = 50;

/// Names the user of a chat, below the service.
pub(crate) fn user(chat: usize) -> String {
    format!("user{}", chat / OF_A_USER)
}

/// Names a chat.
pub(crate) fn name(chat: usize) -> String {
    format!("chat{chat}")
}
