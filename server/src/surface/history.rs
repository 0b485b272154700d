//! Makes one history of the texts of a chat, with both sides in turn and without calls and notices.
//! Also makes the ids of its entries.

use std::borrow::Cow;

use madang::{
    TurnId,
    event::{ChatMessage, Content},
    session::{Imported, ImportedRole},
    turn::BETWEEN_MESSAGES,
};

/// Returns the id of a text: the client's own, which it sent as the key, or else that of the entry.
pub(crate) fn id_of(message: &ChatMessage) -> Cow<'_, str> {
    match &message.content {
        Content::User { key: Some(key), .. } => key.as_str().into(),
        Content::User { .. }
        | Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => entry_id(message.turn, message.seq).into(),
    }
}

/// Returns the id of an entry.
pub(crate) fn entry_id(turn: TurnId, entry: u64) -> String {
    format!("{turn}:{entry}")
}

/// Returns the texts of a chat. Texts of the same side in a row are one.
pub(crate) fn said_in(messages: &[ChatMessage]) -> Vec<Imported> {
    let mut said = Sayings::default();
    for message in messages {
        let (role, text) = match &message.content {
            Content::User { text, .. } => (ImportedRole::User, text),
            Content::Model { text, .. } if !text.is_empty() => (ImportedRole::Model, text),
            Content::Model { .. }
            | Content::ToolCall(_)
            | Content::Notice { .. }
            | Content::Cleared => continue,
        };
        said.push(role, text);
    }
    said.done()
}

/// Texts of both sides in turn. A text of the same side as the last one is appended to it, because
/// there may be a hundred thousand of one side.
#[derive(Debug, Default)]
pub(crate) struct Sayings(Vec<(ImportedRole, String)>);

impl Sayings {
    /// Adds a text.
    pub(crate) fn push(&mut self, role: ImportedRole, text: &str) {
        match self.0.last_mut() {
            Some((last, said)) if *last == role => {
                said.push_str(BETWEEN_MESSAGES);
                said.push_str(text);
            }
            Some(_) | None => self.0.push((role, text.to_owned())),
        }
    }

    /// Returns the texts.
    pub(crate) fn done(self) -> Vec<Imported> {
        self.0.into_iter().map(|(role, text)| Imported { role, text: text.into() }).collect()
    }
}
