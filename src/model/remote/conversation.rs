//! Groups the messages of a chat as providers want them. The calls of one completion stand in one message, behind the
//! text that came before them.

use madang_actors::protocol::{CallId, PromptMessage};
use serde_json::{Map, Value};

use super::opaque::Opaque;

/// One message of a conversation.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    /// The user's.
    User(&'a str),
    /// The model's: a text, calls with their results, or both.
    Model { text: &'a str, calls: Vec<PastCall<'a>> },
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    id: CallId,
    pub(super) name: &'a str,
    arguments: &'a str,
    pub(super) result: &'a str,
    pub(super) thoughts: Vec<Value>,
    pub(super) signature: Option<String>,
}

impl PastCall<'_> {
    pub(super) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Gives the arguments as an object; others came from a call that was refused.
    pub(super) fn arguments(&self) -> Map<String, Value> {
        match serde_json::from_str(self.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(other) => Map::from_iter([("arguments".to_owned(), other)]),
            Err(_) => Map::from_iter([("arguments".to_owned(), self.arguments.into())]),
        }
    }
}

/// Groups messages. What another model than `tag` wanted back is left out, and all of it where `is_stripped`.
pub(super) fn conversation<'a>(
    messages: &'a [PromptMessage],
    tag: &str,
    is_stripped: bool,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    // How many calls of the last completion are still to come.
    let mut open = 0;
    for message in messages {
        match message {
            PromptMessage::User { text } => {
                open = 0;
                entries.push(Entry::User(text));
            }
            PromptMessage::Model { text } => {
                open = 0;
                entries.push(Entry::Model { text, calls: Vec::new() });
            }
            PromptMessage::ToolCall { call, name, arguments, envelope, opaque } => {
                let opaque = opaque.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let count = opaque.as_ref().map_or(1, |opaque: &Opaque| opaque.calls);
                let own = opaque.filter(|opaque| opaque.model == tag && !is_stripped);
                let (thoughts, signature) =
                    own.map_or_else(Default::default, |own| (own.thoughts, own.signature));
                let call =
                    PastCall { id: *call, name, arguments, result: envelope, thoughts, signature };
                match entries.last_mut() {
                    Some(Entry::Model { calls, .. }) if open > 0 || calls.is_empty() => {
                        open = if calls.is_empty() { count } else { open }.saturating_sub(1);
                        calls.push(call);
                    }
                    _ => {
                        open = count.saturating_sub(1);
                        entries.push(Entry::Model { text: "", calls: vec![call] });
                    }
                }
            }
        }
    }
    entries
}
