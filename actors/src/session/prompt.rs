//! What the model reads of a chat, kept from one completion to the next: only what is new is written.

use std::sync::Arc;

use crate::protocol::{
    ChatMessage, Content, Limits, Locale, PromptMessage, ToolSpec, prompt_entry,
};

/// What the model reads of a chat: the same as [`prompt`](crate::protocol::prompt) of its entries.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    /// Shared with the completion that reads it: what has ended when more is added, as a rule.
    entries: Arc<Vec<PromptMessage>>,
    /// How many entries of the chat it was made of.
    made_of: usize,
    locale: Locale,
}

impl Prompt {
    /// Reads on from where it was, in this language.
    pub(super) fn of(
        &mut self,
        messages: &[ChatMessage],
        tools: &[ToolSpec],
        locale: Locale,
        limits: &Limits,
    ) -> Arc<Vec<PromptMessage>> {
        if locale != self.locale {
            *self = Self { locale, ..Self::default() };
        }
        let entries = Arc::make_mut(&mut self.entries);
        for message in &messages[self.made_of..] {
            if message.content == Content::Cleared {
                entries.clear();
            }
            entries.extend(prompt_entry(message, tools, locale, limits));
        }
        self.made_of = messages.len();
        self.entries.clone()
    }

    /// An entry has changed.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::protocol::{
        CallId, CallRecord, CallResult, Effect, Ending, Notice, Timestamp, ToolOutcome, TurnId,
        prompt,
    };

    fn chat() -> Vec<ChatMessage> {
        let at = Timestamp::from_millis(1);
        let record = CallRecord {
            id: CallId::new(Uuid::from_u128(1)),
            name: "look".into(),
            arguments: json!({}),
            asked: None,
            approval: None,
            outcome: None,
            effect: Effect::Committed,
            result: CallResult::Discarded,
            settled_by: None,
            proposed_at: at,
            ended_at: at,
        };
        let seen = CallRecord {
            outcome: Some(ToolOutcome::ok(json!([1, 2]))),
            result: CallResult::Shown,
            ..record.clone()
        };
        let said = |text: &str| Content::User { text: text.into() };
        let contents = [
            said("one"),
            Content::ToolCall(Box::new(record)),
            Content::Notice { notice: Notice::EffectUnknown },
            Content::Model { text: "two".into(), ending: Ending::Complete },
            Content::Cleared,
            said("three"),
            Content::ToolCall(Box::new(seen)),
        ];
        let turn = TurnId::new(Uuid::from_u128(2));
        let message = |(seq, content)| ChatMessage { seq, turn, at, content };
        (1..).zip(contents).map(message).collect()
    }

    #[test]
    fn it_is_what_it_would_be_if_it_were_written_anew() {
        let (chat, limits, mut kept) = (chat(), Limits::default(), Prompt::default());
        for end in 0..=chat.len() {
            for locale in [Locale::Ko, Locale::Ko, Locale::En] {
                let anew = prompt(&chat[..end], &[], locale, &limits);
                assert_eq!(*kept.of(&chat[..end], &[], locale, &limits), anew);
            }
        }
    }
}
