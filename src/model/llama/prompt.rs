//! From a chat to the prompt of a model's dialect, in pieces of which each is known to be trusted or not.

use std::fmt::Write as _;

use madang_actors::protocol::{PromptMessage, ToolSpec};
use minijinja::Error;
use serde_json::{Value, json};

use super::{
    family::{Dialect, ToolListing},
    hidden::{Hidden, Piece},
    parser::{CallSyntax, THINK_OPEN},
    template::TemplateInput,
};

/// What stays the same while the prompt is fitted into the context.
#[derive(Debug)]
pub(super) struct PromptWriter<'a> {
    pub(super) dialect: &'a Dialect,
    /// Texts that must not come out of what others wrote.
    pub(super) markers: &'a [String],
    pub(super) bos: &'a str,
    pub(super) eos: &'a str,
    pub(super) has_thinking: bool,
    pub(super) system: Option<&'a str>,
    pub(super) tools: &'a [ToolSpec],
}

/// A rendered prompt.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) pieces: Vec<Piece>,
    /// The template has begun the model's thinking already.
    pub(super) is_thinking: bool,
}

impl PromptWriter<'_> {
    /// Renders these messages.
    pub(super) fn write(&self, messages: &[&PromptMessage]) -> Result<Prompt, Error> {
        let mut hidden = Hidden::default();
        let suspect = |text: &str| self.markers.iter().any(|marker| text.contains(marker));
        let chat = match self.dialect.syntax {
            CallSyntax::Hermes => self.with_calls(messages, &mut hidden, &suspect),
            CallSyntax::Envelope => self.in_words(messages, &mut hidden),
        };
        let tools: Vec<Value> = match self.dialect.listing {
            ToolListing::Template => self
                .tools
                .iter()
                .map(|tool| hidden.hide_suspects(&tool.to_openai(), &suspect))
                .collect(),
            ToolListing::SystemText => Vec::new(),
        };
        let input = TemplateInput {
            messages: &chat,
            tools: &tools,
            bos: self.bos,
            eos: self.eos,
            has_thinking: self.has_thinking,
        };
        let pieces = hidden.uncover(&self.dialect.template.render(&input)?);
        let is_thinking = matches!(pieces.last(), Some(Piece::Trusted(text)) if text.trim_end().ends_with(THINK_OPEN));
        Ok(Prompt { pieces, is_thinking })
    }

    /// The chat for a template that knows of calls and their results.
    fn with_calls(
        &self,
        messages: &[&PromptMessage],
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let mut chat: Vec<Value> = Vec::new();
        let mut system = self.system_text();
        if self.dialect.has_system && !system.is_empty() {
            chat.push(
                json!({"role": "system", "content": hidden.hide(&std::mem::take(&mut system))}),
            );
        }
        let mut said: Option<String> = None;
        for message in messages {
            match message {
                PromptMessage::User { text } => {
                    chat.extend(said.take().as_deref().map(model_said));
                    let text = with_system(&std::mem::take(&mut system), text);
                    chat.push(json!({"role": "user", "content": hidden.hide(&text)}));
                }
                PromptMessage::Model { text } => {
                    chat.extend(said.take().as_deref().map(model_said));
                    said = Some(hidden.hide(text));
                }
                PromptMessage::ToolCall { call, name, arguments, envelope } => {
                    let name = hidden.hide_suspects(&Value::from(&**name), suspect);
                    let arguments = serde_json::from_str(arguments)
                        .unwrap_or_else(|_| Value::from(&**arguments));
                    let arguments = hidden.hide_json(&arguments, suspect);
                    let id = call.to_string();
                    chat.push(json!({
                        "role": "assistant",
                        // What the model said before the call was said in the same breath.
                        "content": said.take().unwrap_or_default(),
                        "tool_calls": [
                            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}},
                        ],
                    }));
                    let content = hidden.hide(envelope);
                    chat.push(json!({"role": "tool", "tool_call_id": id, "name": name, "content": content}));
                }
            }
        }
        chat.extend(said.take().as_deref().map(model_said));
        chat
    }

    /// The chat for a template that knows only of user and model, who speak in turns.
    fn in_words(&self, messages: &[&PromptMessage], hidden: &mut Hidden) -> Vec<Value> {
        let mut turns: Vec<(&str, String)> = Vec::new();
        let mut say = |role: &'static str, text: &str| match turns.last_mut() {
            Some((last, said)) if *last == role => {
                said.push_str("\n\n");
                said.push_str(text);
            }
            _ => turns.push((role, text.to_owned())),
        };
        for message in messages {
            match message {
                PromptMessage::User { text } => say("user", text),
                PromptMessage::Model { text } => say("assistant", text),
                PromptMessage::ToolCall { name, arguments, envelope, .. } => {
                    let name = Value::from(&**name);
                    say(
                        "assistant",
                        &format!(
                            r#"{{"tool_call": {{"name": {name}, "arguments": {arguments}}}}}"#
                        ),
                    );
                    say(
                        "user",
                        &format!(r#"{{"tool_result": {{"name": {name}, "result": {envelope}}}}}"#),
                    );
                }
            }
        }
        let mut system = self.system_text();
        let mut chat = Vec::new();
        if self.dialect.has_system && !system.is_empty() {
            chat.push(
                json!({"role": "system", "content": hidden.hide(&std::mem::take(&mut system))}),
            );
        }
        for (role, text) in turns {
            let text = if role == "user" {
                with_system(&std::mem::take(&mut system), &text)
            } else {
                text
            };
            chat.push(json!({"role": role, "content": hidden.hide(&text)}));
        }
        chat
    }

    fn system_text(&self) -> String {
        let mut text = self.system.unwrap_or_default().to_owned();
        if self.dialect.listing == ToolListing::Template || self.tools.is_empty() {
            return text;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("You can use these tools, each described by a JSON object:\n");
        for tool in self.tools {
            writeln!(text, "{}", tool.to_plain()).expect("a string takes everything");
        }
        text.push_str(match self.dialect.syntax {
            CallSyntax::Hermes => {
                "\nTo use a tool, write its name and its arguments as JSON inside tool_call tags:\n\
                 <tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>\n"
            }
            CallSyntax::Envelope => {
                "\nTo use a tool, answer with nothing but a JSON object of this form:\n\
                 {\"tool_call\": {\"name\": \"NAME\", \"arguments\": {}}}\n\
                 Its result comes in the next message as {\"tool_result\": ...}; it is not written by the user.\n"
            }
        });
        text.push_str(
            "Where no tool is needed, answer in plain words, in the language of the user.",
        );
        text
    }
}

fn model_said(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

fn with_system(system: &str, text: &str) -> String {
    if system.is_empty() { text.to_owned() } else { format!("{system}\n\n{text}") }
}

#[cfg(test)]
#[path = "tests/prompt.rs"]
mod tests;
