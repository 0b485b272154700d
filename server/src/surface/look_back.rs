//! Reads a chat from its end, a page at a time, to find a message of its user.

use madang::{
    Session, TurnId,
    event::{ChatMessage, Content},
    session::{SessionView, ViewPage},
};

use super::{body::Said, history::id_of};
use crate::{ServerLimits, problem::Problem};

/// The pages of a chat, the last one first.
#[derive(Debug)]
pub(super) struct LookBack<'a> {
    session: &'a Session,
    /// The page that comes next. `None` after the first page of the chat.
    page: Option<ViewPage>,
    /// How many pages may still be read.
    left: usize,
}

/// A message of the user's that a chat has.
#[derive(Debug)]
pub(super) struct Found {
    /// That message as it is stored.
    pub(super) message: ChatMessage,
    /// Whether the chat has it under its key, with the same text.
    pub(super) is_same: bool,
    /// Whether the user has said nothing after it.
    pub(super) is_last: bool,
    /// Whether its turn runs, and waits for nobody.
    pub(super) is_running: bool,
}

impl<'a> LookBack<'a> {
    /// Begins at the end of a chat. It reads no more pages than a history has that a client can
    /// send.
    pub(super) fn new(session: &'a Session, limits: &ServerLimits) -> Self {
        let left = limits.max_history_body_bytes.div_ceil(limits.max_page_bytes.max(1));
        Self { session, page: Some(ViewPage::of(limits.max_page_bytes)), left }
    }

    async fn next(&mut self) -> Result<Option<SessionView>, Problem> {
        let (Some(page), Some(left)) = (self.page, self.left.checked_sub(1)) else {
            return Ok(None);
        };
        self.left = left;
        let view = self.session.view(page).await?;
        self.page = view.earlier.map(|first| page.before(first));
        Ok(Some(view))
    }

    /// Returns a message of the client's by its id, or `None` if the pages do not have it.
    ///
    /// # Errors
    /// Returns a problem if the session cannot be reached.
    pub(super) async fn find(&mut self, said: &Said) -> Result<Option<Found>, Problem> {
        let mut runs = None;
        let mut is_last = true;
        while let Some(view) = self.next().await? {
            let SessionView { messages, turn, approval_request, .. } = view;
            // The last page shows how the chat is now.
            let runs = *runs.get_or_insert(turn.filter(|_| approval_request.is_none()));
            if let Some(found) = stands(&messages, said, runs) {
                return Ok(Some(Found { is_last: found.is_last && is_last, ..found }));
            }
            is_last &= !messages.iter().any(is_users);
        }
        Ok(None)
    }

    /// Returns whether the chat has entries that were not read, because they are too far back.
    pub(super) const fn is_cut(&self) -> bool {
        self.left == 0 && self.page.is_some()
    }
}

fn is_users(entry: &ChatMessage) -> bool {
    matches!(entry.content, Content::User { .. })
}

/// Finds a message of the client's among these entries.
fn stands(messages: &[ChatMessage], said: &Said, runs: Option<TurnId>) -> Option<Found> {
    let is_it = |entry: &ChatMessage| is_users(entry) && *id_of(entry) == *said.key.as_str();
    let at = messages.iter().position(is_it)?;
    let message = messages[at].clone();
    let is_last = !messages[at + 1..].iter().any(is_users);
    let is_same = match &message.content {
        Content::User { text, key, .. } => key.is_some() && **text == *said.text,
        Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => false,
    };
    let is_running = runs == Some(message.turn);
    Some(Found { message, is_same, is_last, is_running })
}
