//! Groups the messages of a chat as providers want them. The calls of one completion are in one
//! message, after the text that came before them.

use std::borrow::Cow;

use madang_actors::protocol::{ConversationCall, ConversationMessage, PromptMessage};
use serde_json::{Map, Value};

use super::opaque::Opaque;

/// One message of a conversation.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    /// The user's.
    User(Cow<'a, str>),
    /// The model's: a text, calls with their results, or both.
    Model { text: Cow<'a, str>, calls: Vec<PastCall<'a>> },
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    pub(super) id: String,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Map<String, Value>,
    pub(super) result: &'a str,
    pub(super) thoughts: Vec<Value>,
    pub(super) signature: Option<Value>,
}

/// Groups messages. What a model other than `tag` wanted back is left out, and so is all of it if
/// `is_stripped`.
pub(super) fn conversation<'a>(
    messages: &'a [PromptMessage],
    tag: &str,
    is_stripped: bool,
) -> Vec<Entry<'a>> {
    let opaque = |text: &str| serde_json::from_str::<Opaque>(text).ok();
    let of_round = |text: &str| opaque(text).map_or(1, |opaque| opaque.calls);
    let told = madang_actors::protocol::conversation(messages, of_round);
    let call = |call: ConversationCall<'a>| {
        let own = call.opaque.and_then(opaque);
        let own = own.filter(|opaque| opaque.model == tag && !is_stripped);
        let (thoughts, signature) =
            own.map_or_else(Default::default, |own| (own.thoughts, own.signature));
        let ConversationCall { id, name, arguments, result, .. } = call;
        PastCall { id, name, arguments, result, thoughts, signature }
    };
    told.into_iter()
        .map(|message| match message {
            ConversationMessage::User { text } => Entry::User(text),
            ConversationMessage::Model { text, calls } => {
                Entry::Model { text, calls: calls.into_iter().map(call).collect() }
            }
        })
        .collect()
}
