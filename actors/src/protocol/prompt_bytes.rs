//! Measures the parts of a prompt.

use super::{PromptMessage, PromptSize, ToolSpec};

impl PromptSize {
    /// Measures a prompt. `before` are the texts that come before the chat.
    #[must_use]
    pub fn of<'a>(
        before: impl IntoIterator<Item = &'a str>,
        messages: &[PromptMessage],
        tools: &[ToolSpec],
    ) -> Self {
        let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
        let last = messages.iter().rposition(is_user);
        let (history, rest) = messages.split_at(last.unwrap_or(messages.len()));
        let (message, results) = rest.split_at(rest.len().min(1));
        let bytes = |messages: &[PromptMessage]| -> u64 {
            messages.iter().map(|message| message.bytes() as u64).sum()
        };
        let described = |tool: &ToolSpec| tool.to_openai().to_string().len() as u64;
        Self {
            tools: tools.len() as u64,
            tools_bytes: tools.iter().map(described).sum(),
            system_bytes: before.into_iter().map(|text| text.len() as u64).sum(),
            history_bytes: bytes(history),
            message_bytes: bytes(message),
            results_bytes: bytes(results),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::{CallId, PromptPart};

    fn user(text: &str) -> PromptMessage {
        PromptMessage::User { text: text.into() }
    }

    #[test]
    fn the_parts_of_a_prompt_are_measured_and_the_largest_is_named() {
        let tool = |words: usize| {
            let schema = json!({ "type": "object", "description": "word ".repeat(words) });
            ToolSpec::new("look", "Looks.", schema)
        };
        let said = PromptMessage::Model { text: "b".repeat(808).into() };
        let called = PromptMessage::ToolCall {
            call: CallId::new(uuid::Uuid::nil()),
            name: "look".into(),
            arguments: "{}".into(),
            envelope: "e".repeat(94).into(),
            opaque: None,
        };
        let chat = [user("old"), said, user("hi"), called];
        let tools = [tool(1), tool(1_000)];
        let size = PromptSize::of(["sys", "tem"], &chat, &tools);
        assert_eq!((size.tools, size.system_bytes), (2, 6));
        assert_eq!((size.history_bytes, size.message_bytes, size.results_bytes), (811, 2, 100));
        assert!((5_000..6_000).contains(&size.tools_bytes), "{size:?}");
        assert_eq!(size.largest(), PromptPart::Tools);
        let without_tools = PromptSize::of([], &chat, &[]);
        assert_eq!(without_tools.largest(), PromptPart::History, "{without_tools:?}");
        let short = PromptSize { history_bytes: 799, ..without_tools };
        assert_eq!(short.largest(), PromptPart::Results, "what is left of the chat is less");
        assert_eq!(PromptSize::of([], &[user("long")], &[]).largest(), PromptPart::Message);
        assert_eq!(PromptSize::of(["long"], &[user("hi")], &[]).largest(), PromptPart::System);
    }
}
