//! Writes the prompt of a chat in a model's dialect, in pieces that are trusted or not.

use std::fmt::Write as _;

use madang_actors::protocol::{
    ConversationCall, ConversationMessage, PromptMessage, SILENCE, ToolSpec, conversation,
};
use madang_parser::{call::CallForm, family::Opening};
use minijinja::{Error, ErrorKind};
use serde_json::{Value, json};

use super::{
    dialect::Dialect,
    hidden::{Hidden, Piece, TooLong},
    markers::Markers,
    telling::{Telling, ToolListing},
    template::TemplateInput,
};

/// The data that stay the same while the prompt is fitted into the context.
#[derive(Debug)]
pub(super) struct PromptWriter<'a> {
    pub(super) dialect: &'a Dialect,
    /// Texts that must not come out of foreign texts.
    pub(super) markers: &'a Markers,
    pub(super) bos: &'a str,
    pub(super) eos: &'a str,
    pub(super) has_thinking: bool,
    pub(super) system: Option<&'a str>,
    /// The instructions of the turn, which come after all that chats may share.
    pub(super) instructions: Option<&'a str>,
    pub(super) tools: &'a [ToolSpec],
    /// The most bytes of a prompt.
    pub(super) max_bytes: usize,
}

/// A rendered prompt.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) pieces: Vec<Piece>,
    /// Whether the template has begun the model's thinking.
    pub(super) is_thinking: bool,
}

impl PromptWriter<'_> {
    /// Renders these messages.
    ///
    /// # Errors
    /// Returns the template's error, or an error if the prompt grows beyond `max_bytes`.
    pub(super) fn write(&self, messages: &[&PromptMessage]) -> Result<Prompt, Error> {
        let mut hidden = Hidden::default();
        let (chat, tools) = self.input(messages, &mut hidden);
        let input = TemplateInput {
            messages: &chat,
            tools: &tools,
            bos: self.bos,
            eos: self.eos,
            has_thinking: self.has_thinking,
            max_bytes: self.max_bytes,
        };
        let rendered = self.dialect.template.render(&input)?;
        let pieces = hidden.uncover(&rendered, self.max_bytes).map_err(too_long)?;
        let [think, _] = self.dialect.family.thinking;
        let is_thinking =
            matches!(pieces.last(), Some(Piece::Trusted(text)) if text.trim_end().ends_with(think));
        Ok(Prompt { pieces, is_thinking })
    }

    /// Builds the messages and the tools for the template, with all foreign texts hidden.
    pub(super) fn input(
        &self,
        messages: &[&PromptMessage],
        hidden: &mut Hidden,
    ) -> (Vec<Value>, Vec<Value>) {
        let suspect = |text: &str| self.markers.suspects(text);
        // No local model asks for opaque state, so each call has a message of its own.
        let told = conversation(messages.iter().copied(), |_| 1);
        let chat = match self.dialect.telling {
            Telling::Calls => self.with_calls(&told, hidden, &suspect),
            Telling::CallsWithResults => self.with_results(&told, hidden, &suspect),
            Telling::Text { result_role } => self.in_words(&told, hidden, result_role),
        };
        let tools: Vec<Value> = match self.dialect.listing {
            ToolListing::Template => self
                .tools
                .iter()
                .map(|tool| hidden.hide_suspects(&tool.to_openai(), &suspect))
                .collect(),
            ToolListing::SystemText => Vec::new(),
        };
        (chat, tools)
    }

    /// Builds the chat for a template with calls and results.
    fn with_calls(
        &self,
        told: &[ConversationMessage<'_>],
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let (mut chat, mut system) = self.beginning(hidden);
        for message in told {
            match message {
                ConversationMessage::User { text } => chat.push(asked(&mut system, text, hidden)),
                ConversationMessage::Model { text, calls } if calls.is_empty() => {
                    chat.push(model_said(&hidden.hide(text)));
                }
                ConversationMessage::Model { text, calls } => {
                    // The model's text before its calls belongs to the same message, if the
                    // template writes it there.
                    let mut said = hidden.hide(text);
                    if !said.is_empty() && !self.dialect.has_said_with_calls {
                        chat.push(model_said(&said));
                        chat.push(asked(&mut String::new(), SILENCE, hidden));
                        said.clear();
                    }
                    let calls: Vec<_> =
                        calls.iter().map(|call| Called::new(call, hidden, suspect)).collect();
                    chat.push(with_calls(&said, &calls));
                    chat.extend(calls.iter().map(|Called { id, name, result, .. }| {
                        let content = hidden.hide(result);
                        json!({"role": "tool", "tool_call_id": id, "name": name, "content": content})
                    }));
                }
            }
        }
        chat
    }

    /// Builds the chat for a template that wants a call, its result and the next text of the model
    /// in one message.
    fn with_results(
        &self,
        told: &[ConversationMessage<'_>],
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let (mut chat, mut system) = self.beginning(hidden);
        let mut has_open_result = false;
        for message in told {
            match message {
                ConversationMessage::User { text } => chat.push(asked(&mut system, text, hidden)),
                ConversationMessage::Model { text, calls } => {
                    let said = hidden.hide(text);
                    match chat.last_mut() {
                        Some(call) if has_open_result => call["content"] = Value::from(said),
                        Some(_) | None if !said.is_empty() => chat.push(model_said(&said)),
                        Some(_) | None => {}
                    }
                    for call in calls {
                        let call = Called::new(call, hidden, suspect);
                        let result = hidden.hide_json(&json_or_text(call.result), suspect);
                        let mut message = with_calls("", std::slice::from_ref(&call));
                        message["tool_responses"] =
                            json!([{"name": call.name, "response": result}]);
                        chat.push(message);
                    }
                    has_open_result = !calls.is_empty();
                }
            }
        }
        chat
    }

    /// Builds the chat for a template that knows only user and model in turns, and perhaps tools.
    fn in_words(
        &self,
        told: &[ConversationMessage<'_>],
        hidden: &mut Hidden,
        result_role: &'static str,
    ) -> Vec<Value> {
        let (mut chat, mut system) = self.beginning(hidden);
        let mut turns: Vec<(&str, String)> = Vec::new();
        let mut say = |role: &'static str, text: &str| match turns.last_mut() {
            Some((last, said)) if *last == role => {
                said.push_str("\n\n");
                said.push_str(text);
            }
            _ => turns.push((role, text.to_owned())),
        };
        for message in told {
            match message {
                ConversationMessage::User { text } => {
                    let text = with_system(&std::mem::take(&mut system), text);
                    say("user", &hidden.hide(&text));
                }
                ConversationMessage::Model { text, calls } => {
                    if !text.is_empty() {
                        say("assistant", &hidden.hide(text));
                    }
                    for ConversationCall { name, arguments, result, .. } in calls {
                        let family = self.dialect.family;
                        let arguments = Value::from(arguments.clone()).to_string();
                        let call = match family.form {
                            // Their own texts are tokens.
                            CallForm::Marked(marks) => {
                                marks.write(&hidden.hide(name), &hidden.hide(&arguments))
                            }
                            form @ (CallForm::Object { .. }
                            | CallForm::Objects(_)
                            | CallForm::Tagged(_)
                            | CallForm::Braces(_)
                            | CallForm::Python) => hidden.hide(&form.write(name, &arguments)),
                        };
                        let closing = family.closing.first().copied().unwrap_or_default();
                        match family.opening {
                            Opening::Marker(marker) => {
                                say("assistant", &format!("{marker}{call}{closing}"));
                            }
                            Opening::Header(_) | Opening::Answer(_) => say("assistant", &call),
                        }
                        let name = Value::from(&**name);
                        let result = match result_role {
                            "tool" => (*result).to_owned(),
                            _ => format!(
                                r#"{{"tool_result": {{"name": {name}, "result": {result}}}}}"#
                            ),
                        };
                        say(result_role, &hidden.hide(&result));
                    }
                }
            }
        }
        chat.extend(turns.into_iter().map(|(role, text)| json!({"role": role, "content": text})));
        chat
    }

    /// Builds the system message. If the template takes none, builds the text before the first
    /// question.
    fn beginning(&self, hidden: &mut Hidden) -> (Vec<Value>, String) {
        let system = self.system_text();
        if !self.dialect.has_system || system.is_empty() {
            return (Vec::new(), system);
        }
        (vec![json!({"role": "system", "content": hidden.hide(&system)})], String::new())
    }

    fn system_text(&self) -> String {
        let shared = self.shared_text();
        match self.instructions {
            Some(instructions) => with_system(&shared, instructions),
            None => shared,
        }
    }

    /// Builds the part of the system text that all chats with these tools have.
    fn shared_text(&self) -> String {
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
        text.push('\n');
        text.push_str(self.dialect.family.instruction.unwrap_or_default());
        text.push_str(
            "Where no tool is needed, answer in plain words, in the language of the user.",
        );
        text
    }
}

/// A call as a template takes it.
struct Called<'a> {
    id: &'a str,
    name: Value,
    arguments: Value,
    result: &'a str,
}

impl<'a> Called<'a> {
    fn new(
        call: &'a ConversationCall<'_>,
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Self {
        let name = hidden.hide_suspects(&Value::from(&*call.name), suspect);
        let arguments = hidden.hide_json(&Value::from(call.arguments.clone()), suspect);
        Self { id: &call.id, name, arguments, result: call.result }
    }
}

fn with_calls(said: &str, calls: &[Called<'_>]) -> Value {
    let calls = calls.iter().map(|Called { id, name, arguments, .. }| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    });
    json!({"role": "assistant", "content": said, "tool_calls": calls.collect::<Vec<_>>()})
}

/// Writes a message of the user, after the system text if that has no message of its own.
fn asked(system: &mut String, text: &str, hidden: &mut Hidden) -> Value {
    let text = with_system(&std::mem::take(system), text);
    json!({"role": "user", "content": hidden.hide(&text)})
}

fn too_long(cause: TooLong) -> Error {
    Error::new(ErrorKind::WriteFailure, "the prompt is too long").with_source(cause)
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
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
