//! The prompt of a chat, kept from one completion to the next: only new entries are written.

use std::{collections::BTreeSet, sync::Arc};

use crate::protocol::{
    CallRecord, ChatMessage, Content, Limits, Locale, ModelName, PromptMessage, Text, ToolSpec,
    TurnId, bare_envelope, call_envelope,
};

/// The prompt of a chat: what the model reads of its entries since the last clearing.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    /// Shared with the completion that reads it; as a rule that has ended when more is added.
    entries: Arc<Vec<PromptMessage>>,
    /// The number of entries of the chat in it.
    made_of: usize,
    /// Turns whose texts the model reads no more.
    left_out: BTreeSet<TurnId>,
    /// The model that reads it.
    model: Option<ModelName>,
    locale: Locale,
}

impl Prompt {
    /// Reads the new entries for this model, in this language.
    pub(super) fn write(
        &mut self,
        messages: &[ChatMessage],
        model: Option<&ModelName>,
        tools: &[ToolSpec],
        locale: Locale,
        limits: &Limits,
    ) -> Arc<Vec<PromptMessage>> {
        if locale != self.locale || model != self.model.as_ref() {
            *self = Self { locale, model: model.cloned(), ..Self::default() };
        }
        let known = self.left_out.len();
        self.left_out.extend(messages[self.made_of..].iter().filter_map(ChatMessage::left_out));
        if self.left_out.len() > known {
            // The entries of that turn are written anew, without its texts.
            self.entries = Arc::default();
            self.made_of = 0;
        }
        let entries = Arc::make_mut(&mut self.entries);
        for message in &messages[self.made_of..] {
            if message.content == Content::Cleared {
                entries.clear();
            }
            let is_left_out = self.left_out.contains(&message.turn);
            entries.extend(prompt_entry(message, is_left_out, model, tools, locale, limits));
        }
        self.made_of = messages.len();
        self.entries.clone()
    }

    /// Forgets all entries, because one has changed.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Returns what the model reads of one entry, or `None` for a notice and a clearing. If the entry's
/// turn is left out, the model reads none of its text: only that there was a message, and whether
/// each call took effect. Opaque state goes only to the model that wrote it.
#[must_use]
pub fn prompt_entry(
    message: &ChatMessage,
    is_left_out: bool,
    model: Option<&ModelName>,
    tools: &[ToolSpec],
    locale: Locale,
    limits: &Limits,
) -> Option<PromptMessage> {
    match &message.content {
        Content::User { .. } if is_left_out => {
            Some(PromptMessage::User { text: Text::LeftOut.in_locale(locale).into() })
        }
        Content::Model { .. } if is_left_out => None,
        Content::ToolCall(record) if is_left_out => Some(PromptMessage::ToolCall {
            call: record.id,
            name: tool_of(record, tools)
                .map_or_else(|| "unknown_tool".into(), |tool| tool.name.clone()),
            arguments: "{}".into(),
            envelope: bare_envelope(record).into(),
            opaque: None,
        }),
        Content::User { text, .. } => Some(PromptMessage::User { text: text.clone() }),
        Content::Model { text, .. } => Some(PromptMessage::Model { text: text.clone() }),
        Content::ToolCall(record) => {
            let tool = tool_of(record, tools);
            let envelope = call_envelope(record, tool, locale, limits.max_envelope_bytes);
            // The model reads the call that it asked for. The envelope says what the user made of
            // it.
            let arguments = record.asked.as_ref().unwrap_or(&record.arguments);
            Some(PromptMessage::ToolCall {
                call: record.id,
                name: record.name.clone(),
                arguments: arguments.to_string().into(),
                envelope: envelope.into(),
                opaque: record.opaque.clone().filter(|_| record.model.as_ref() == model),
            })
        }
        Content::Notice { .. } | Content::Cleared => None,
    }
}

fn tool_of<'a>(record: &CallRecord, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    tools.iter().find(|tool| tool.name == record.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        protocol::{CallId, CallResult, Effect, Ending, Notice, Timestamp, ToolOutcome},
        session::view::visible,
    };

    /// Writes the prompt of a chat anew.
    fn prompt(
        messages: &[ChatMessage],
        model: Option<&ModelName>,
        tools: &[ToolSpec],
        locale: Locale,
        limits: &Limits,
    ) -> Vec<PromptMessage> {
        let visible = visible(messages);
        let left_out: BTreeSet<TurnId> = visible.iter().filter_map(ChatMessage::left_out).collect();
        let read = |message: &ChatMessage| {
            let is_left_out = left_out.contains(&message.turn);
            prompt_entry(message, is_left_out, model, tools, locale, limits)
        };
        visible.iter().filter_map(read).collect()
    }

    fn chat() -> Vec<ChatMessage> {
        let at = Timestamp::from_millis(1);
        let record = CallRecord {
            model: None,
            opaque: None,
            id: CallId::new(Uuid::from_u128(1)),
            name: "look".into(),
            arguments: json!({}).into(),
            asked: None,
            approval: None,
            outcome: None,
            effect: Effect::Committed,
            result: CallResult::Discarded,
            resolved_by: None,
            proposed_at: at,
            ended_at: at,
        };
        let seen = CallRecord {
            outcome: Some(ToolOutcome::ok(json!([1, 2]))),
            result: CallResult::Shown,
            ..record.clone()
        };
        let said = |text: &str| Content::user(text);
        let contents = [
            said("one"),
            Content::ToolCall(Box::new(record)),
            Content::Notice { notice: Notice::EffectUnknown },
            Content::model("two", Ending::Complete),
            Content::Cleared,
            said("three"),
            Content::ToolCall(Box::new(seen)),
        ];
        let turn = TurnId::new(Uuid::from_u128(2));
        let message = |(seq, content)| ChatMessage { seq, turn, at, content };
        (1..).zip(contents).map(message).collect()
    }

    #[test]
    fn of_a_turn_that_is_left_out_the_model_reads_no_text_and_what_its_calls_did() {
        let mut chat = chat();
        let killer = TurnId::new(Uuid::from_u128(3));
        let begin = chat.len();
        for (at, mut message) in self::chat().into_iter().take(4).enumerate() {
            message.turn = killer;
            message.seq = (begin + at + 1) as u64;
            chat.push(message);
        }
        let limits = Limits::default();
        let mut kept = Prompt::default();
        let before = kept.write(&chat, None, &[], Locale::EN, &limits);
        assert!(
            before
                .iter()
                .any(|entry| matches!(entry, PromptMessage::User { text } if **text == *"one"))
        );
        let seq = chat.len() as u64 + 1;
        let at = Timestamp::from_millis(2);
        let content = Content::Notice { notice: Notice::TurnLeftOut };
        chat.push(ChatMessage { seq, turn: killer, at, content });
        let after = kept.write(&chat, None, &[], Locale::EN, &limits);
        assert_eq!(*after, prompt(&chat, None, &[], Locale::EN, &limits));
        let last: Vec<_> = after.iter().rev().take(2).rev().collect();
        let PromptMessage::User { text } = last[0] else { panic!("{last:?}") };
        assert!(text.starts_with("(The text of this message is left out"), "{text}");
        let PromptMessage::ToolCall { arguments, envelope, .. } = last[1] else {
            panic!("{last:?}")
        };
        assert_eq!(
            (&**arguments, envelope.contains("\"effect\":\"committed\"")),
            ("{}", true),
            "{envelope}"
        );
        assert_eq!(after.len() + 1, before.len(), "what the model said is not told");
        assert!(
            !after
                .iter()
                .any(|entry| matches!(entry, PromptMessage::User { text } if **text == *"one"))
        );
    }

    #[test]
    fn it_is_what_it_would_be_if_it_were_written_anew() {
        let chat = chat();
        let limits = Limits::default();
        let mut kept = Prompt::default();
        for end in 0..=chat.len() {
            for locale in [Locale::KO, Locale::KO, Locale::EN] {
                let anew = prompt(&chat[..end], None, &[], locale, &limits);
                assert_eq!(*kept.write(&chat[..end], None, &[], locale, &limits), anew);
            }
        }
    }

    #[test]
    fn what_was_written_is_kept_and_not_written_anew() {
        let chat = chat();
        let limits = Limits::default();
        let mut kept = Prompt::default();
        let mut envelope = |end| {
            let prompt = kept.write(&chat[..end], None, &[], Locale::EN, &limits);
            let call = prompt.iter().find_map(|entry| match entry {
                PromptMessage::ToolCall { envelope, .. } => Some(envelope.clone()),
                PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
            });
            call.unwrap()
        };
        assert!(Arc::ptr_eq(&envelope(2), &envelope(4)));
    }
}
