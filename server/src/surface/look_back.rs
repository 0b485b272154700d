//! Reads a chat from its end, a page at a time, to find a message of its user and the texts before
//! it that an import takes.

use madang::{
    Session, TurnId,
    event::{ChatMessage, Content},
    session::{ImportedRole, SessionView, ViewPage},
};

use super::{body::Said, history::id_of};
use crate::{ServerLimits, problem::Problem};

/// The pages of a chat, the last one first.
#[derive(Debug)]
pub(super) struct LookBack<'a> {
    session: &'a Session,
    /// The page that comes next. `None` after the first page of the chat.
    page: Option<ViewPage>,
    /// How many pages may be read for one purpose, and how many of them are left.
    max: usize,
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
    /// The entries before it on its page.
    before: Vec<ChatMessage>,
}

impl<'a> LookBack<'a> {
    /// Begins at the end of a chat. It reads no more pages than a history has that a client can
    /// send.
    pub(super) fn new(session: &'a Session, limits: &ServerLimits) -> Self {
        let max = limits.max_history_body_bytes.div_ceil(limits.max_page_bytes.max(1));
        Self { session, page: Some(ViewPage::of(limits.max_page_bytes)), max, left: max }
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
            match stands(messages, said, runs) {
                Ok(found) => return Ok(Some(Found { is_last: found.is_last && is_last, ..found })),
                Err(messages) => is_last &= !messages.iter().any(is_users),
            }
        }
        Ok(None)
    }

    /// Returns whether the chat has entries that were not read, because they are too far back.
    pub(super) const fn is_cut(&self) -> bool {
        self.left == 0 && self.page.is_some()
    }

    /// Returns the texts before a message that was found, as many of the newest as an import takes.
    ///
    /// # Errors
    /// Returns a problem if the session cannot be reached.
    pub(super) async fn before(
        mut self,
        found: Vec<ChatMessage>,
        limits: &ServerLimits,
    ) -> Result<Vec<ChatMessage>, Problem> {
        self.left = self.max; // there may be many entries between the texts
        let mut texts = TextsBefore::default();
        texts.add(found);
        while !texts.are_enough(limits)
            && let Some(view) = self.next().await?
        {
            texts.add(view.messages);
        }
        texts.newest_first.reverse();
        Ok(texts.newest_first)
    }
}

impl Found {
    /// Returns the message, and the entries before it on its page.
    pub(super) fn into_parts(self) -> (ChatMessage, Vec<ChatMessage>) {
        (self.message, self.before)
    }
}

fn is_users(entry: &ChatMessage) -> bool {
    matches!(entry.content, Content::User { .. })
}

/// Finds a message of the client's among these entries. Returns the entries as an error if it is
/// not there.
fn stands(
    mut messages: Vec<ChatMessage>,
    said: &Said,
    runs: Option<TurnId>,
) -> Result<Found, Vec<ChatMessage>> {
    let is_it = |entry: &ChatMessage| is_users(entry) && *id_of(entry) == *said.key.as_str();
    let Some(at) = messages.iter().position(is_it) else { return Err(messages) };
    let is_last = !messages[at + 1..].iter().any(is_users);
    messages.truncate(at + 1);
    let Some(message) = messages.pop() else { return Err(messages) };
    let is_same = match &message.content {
        Content::User { text, key, .. } => key.is_some() && **text == *said.text,
        Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => false,
    };
    let is_running = runs == Some(message.turn);
    Ok(Found { message, is_same, is_last, is_running, before: messages })
}

/// The texts before a message, read from it backwards.
#[derive(Debug, Default)]
struct TextsBefore {
    newest_first: Vec<ChatMessage>,
    bytes: usize,
    /// How often the side changes. No history of these texts has fewer messages.
    sides: usize,
    last: Option<ImportedRole>,
}

impl TextsBefore {
    /// Adds the entries of a page.
    fn add(&mut self, page: Vec<ChatMessage>) {
        for message in page.into_iter().rev() {
            let (role, text) = match &message.content {
                Content::User { text, .. } => (ImportedRole::User, text),
                Content::Model { text, .. } => (ImportedRole::Model, text),
                Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => continue,
            };
            // An import leaves out a message that is only white space.
            if !text.trim().is_empty() {
                self.sides += usize::from(self.last != Some(role));
                self.last = Some(role);
                self.bytes += text.len();
            }
            self.newest_first.push(message);
        }
    }

    /// Returns whether an import takes none of the texts before these.
    const fn are_enough(&self, limits: &ServerLimits) -> bool {
        self.sides > limits.max_import_messages || self.bytes > limits.max_import_bytes
    }
}

#[cfg(test)]
mod tests {
    use madang::{
        Timestamp,
        event::{Ending, Notice},
    };
    use uuid::Uuid;

    use super::*;

    fn entry(content: Content) -> ChatMessage {
        ChatMessage {
            seq: 1,
            turn: TurnId::new(Uuid::nil()),
            at: Timestamp::from_millis(0),
            content,
        }
    }

    fn page(texts: &[&str]) -> Vec<ChatMessage> {
        let content = |text: &&str| match text.strip_prefix("a: ") {
            Some(said) => Content::model(said, Ending::Complete),
            None if text.is_empty() => Content::Notice { notice: Notice::SuggestClear },
            None => Content::user(*text),
        };
        texts.iter().map(content).map(entry).collect()
    }

    #[test]
    fn texts_before_a_message_are_read_until_an_import_takes_no_more() {
        let mut limits = ServerLimits::default();
        (limits.max_import_messages, limits.max_import_bytes) = (2, 100);
        let enough = |pages: &[&[&str]]| {
            let mut texts = TextsBefore::default();
            pages.iter().for_each(|texts_of_page| texts.add(page(texts_of_page)));
            (texts.are_enough(&limits), texts.newest_first.len())
        };
        assert_eq!(enough(&[&["u", "", "a: b"], &[]]), (false, 2));
        assert_eq!(enough(&[&["a: b"], &["u", "v", "a: "]]), (false, 4), "one side is one message");
        assert_eq!(enough(&[&["a: b"], &["u"], &["a: c"]]), (true, 3));
        let long = "x".repeat(60);
        assert_eq!(enough(&[&[&long], &["a: b"]]), (false, 2));
        assert_eq!(enough(&[&[&long], &[&long]]), (true, 2));
        assert_eq!(enough(&[&[&" ".repeat(200)]]), (false, 1));
    }
}
