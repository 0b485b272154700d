//! Reads a stored chat as far as it can be the client's, page by page from the end.
//!
//! A client of this protocol sends its whole chat. So a chat with far more text than the request is
//! another one, and is not read to its beginning.

use std::sync::Arc;

use madang::{
    IdempotencyKey, Session, TurnId,
    event::{ChatMessage, Content},
    session::{SessionView, ViewPage},
};

use super::{
    conversation::{is_of, new_text},
    request::ChatRequest,
};
use crate::{heavy, problem::Problem};

/// How many bytes of text a chat may have beyond those of a request: a text to which no answer
/// came, and white space.
const SLACK: usize = 256 * 1024;
/// What a message costs in addition to its text when two chats are compared.
const MESSAGE_BYTES: usize = 64;

/// What is known of a chat.
#[derive(Debug, Default)]
pub(super) struct KnownChat {
    /// The texts of both sides in order, and only the newest ones if the chat has too many.
    said: Vec<ChatMessage>,
    /// The turns that did more than speak.
    did_more: Vec<TurnId>,
    bytes: usize,
    /// Whether these are all the texts of the chat.
    is_whole: bool,
}

/// A turn that an earlier try has begun.
pub(super) struct BegunBefore {
    pub(super) turn: TurnId,
    pub(super) text: Arc<str>,
    /// Whether the chat has nothing of it but the text.
    pub(super) did_nothing: bool,
}

impl KnownChat {
    /// Reads a chat that may be that of a request.
    ///
    /// # Errors
    /// Returns a problem if the session cannot be reached.
    pub(super) async fn read(
        session: &Session,
        request: &ChatRequest,
        page_bytes: usize,
    ) -> Result<Self, Problem> {
        let history = request.history.iter().map(|said| said.text.len() + MESSAGE_BYTES);
        let max_bytes = history.sum::<usize>() + request.text.len() + SLACK;
        let mut chat = Self::default();
        let mut page = ViewPage::of(page_bytes);
        while chat.bytes <= max_bytes {
            let SessionView { messages, earlier, .. } = session.view(page).await?;
            chat.add(messages);
            let Some(first) = earlier else {
                chat.is_whole = true;
                break;
            };
            page = page.before(first);
        }
        chat.said.reverse();
        Ok(chat)
    }

    /// Adds a page, the later ones first.
    fn add(&mut self, messages: Vec<ChatMessage>) {
        for message in messages.into_iter().rev() {
            self.bytes += MESSAGE_BYTES;
            match &message.content {
                Content::User { text, .. } | Content::Model { text, .. } => {
                    self.bytes += text.len();
                    self.said.push(message);
                }
                Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => {
                    self.did_more.push(message.turn);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty() && self.did_more.is_empty() && self.is_whole
    }

    /// Returns whether the chat has exactly the history of a request.
    pub(super) async fn has_history_of(self, request: &Arc<ChatRequest>) -> bool {
        self.compared(request, |chat, client| is_of(chat, &client.history)).await.unwrap_or(false)
    }

    /// Returns what is new in the last text of a request, or `None` if the chat is another one.
    pub(super) async fn new_text(self, request: &Arc<ChatRequest>) -> Option<Arc<str>> {
        let new = |chat: &[ChatMessage], client: &ChatRequest| {
            new_text(chat, &client.history, &client.text)
        };
        self.compared(request, new).await.flatten()
    }

    /// Compares the chat with the client's. Both may be long.
    async fn compared<T: Send + 'static>(
        self,
        request: &Arc<ChatRequest>,
        compare: fn(&[ChatMessage], &ChatRequest) -> T,
    ) -> Option<T> {
        if !self.is_whole {
            return None;
        }
        let said = self.said;
        let request = request.clone();
        Some(heavy::run(self.bytes, move || compare(&said, &request)).await)
    }

    /// Returns the turn that was begun under a key, or `None` if the chat does not have it.
    pub(super) fn begun_under(&self, key: &IdempotencyKey) -> Option<BegunBefore> {
        self.said.iter().find_map(|message| {
            let Content::User { text, key: Some(found), .. } = &message.content else {
                return None;
            };
            if found != key {
                return None;
            }
            let turn = message.turn;
            let texts = self.said.iter().filter(|message| message.turn == turn).count();
            let did_nothing = texts == 1 && !self.did_more.contains(&turn);
            Some(BegunBefore { turn, text: text.clone(), did_nothing })
        })
    }
}
