//! Writes the prompt of a chat in a model's dialect, in pieces that are trusted or not.

use std::fmt::Write as _;

use madang_actors::protocol::{CallId, PromptMessage, ToolSpec};
use minijinja::{Error, ErrorKind};
use serde_json::{Value, json};

use super::{
    dialect::{Dialect, Telling, ToolListing},
    family::Opening,
    hidden::{Hidden, Piece, TooLong},
    markers::Markers,
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
    /// The instructions of the turn: behind all that chats may share.
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
    pub(super) fn write(&self, messages: &[&PromptMessage]) -> Result<Prompt, Error> {
        let mut hidden = Hidden::default();
        let suspect = |text: &str| self.markers.suspects(text);
        // A chat that was imported may begin with the model, and many templates refuse that.
        let silence = PromptMessage::User { text: "".into() };
        let begins_with_model = matches!(messages.first(), Some(PromptMessage::Model { .. }));
        let silence = begins_with_model.then_some(&silence);
        let messages: Vec<_> = silence.into_iter().chain(messages.iter().copied()).collect();
        let chat = match self.dialect.telling {
            Telling::Calls => self.with_calls(&messages, &mut hidden, &suspect),
            Telling::CallsWithResults => self.with_results(&messages, &mut hidden, &suspect),
            Telling::Text { result_role } => self.in_words(&messages, &mut hidden, result_role),
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
            max_bytes: self.max_bytes,
        };
        let rendered = self.dialect.template.render(&input)?;
        let pieces = hidden.uncover(&rendered, self.max_bytes).map_err(too_long)?;
        let [think, _] = self.dialect.family.thinking;
        let is_thinking =
            matches!(pieces.last(), Some(Piece::Trusted(text)) if text.trim_end().ends_with(think));
        Ok(Prompt { pieces, is_thinking })
    }

    /// Builds the chat for a template with calls and results.
    fn with_calls(
        &self,
        messages: &[&PromptMessage],
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let (mut chat, mut system) = self.beginning(hidden);
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
                PromptMessage::ToolCall { call, name, arguments, envelope, .. } => {
                    let call = Called::new(call, name, arguments, hidden, suspect);
                    // The model's text before a call belongs to the same message.
                    chat.push(call.message(&said.take().unwrap_or_default()));
                    let content = hidden.hide(envelope);
                    chat.push(json!({
                        "role": "tool", "tool_call_id": call.id, "name": call.name, "content": content,
                    }));
                }
            }
        }
        chat.extend(said.take().as_deref().map(model_said));
        chat
    }

    /// Builds the chat for a template that wants a call, its result and the next text of the model in one message.
    fn with_results(
        &self,
        messages: &[&PromptMessage],
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Vec<Value> {
        let (mut chat, mut system) = self.beginning(hidden);
        let mut has_open_result = false;
        for message in messages {
            let was_open = std::mem::take(&mut has_open_result);
            match message {
                PromptMessage::User { text } => {
                    let text = with_system(&std::mem::take(&mut system), text);
                    chat.push(json!({"role": "user", "content": hidden.hide(&text)}));
                }
                PromptMessage::Model { text } => {
                    let said = hidden.hide(text);
                    match chat.last_mut() {
                        Some(call) if was_open => call["content"] = Value::from(said),
                        Some(_) | None => chat.push(model_said(&said)),
                    }
                }
                PromptMessage::ToolCall { call, name, arguments, envelope, .. } => {
                    let call = Called::new(call, name, arguments, hidden, suspect);
                    let mut message = call.message("");
                    let result = json_or_text(envelope);
                    let result = hidden.hide_json(&result, suspect);
                    message["tool_responses"] = json!([{"name": call.name, "response": result}]);
                    chat.push(message);
                    has_open_result = true;
                }
            }
        }
        chat
    }

    /// Builds the chat for a template that knows only user and model in turns, and perhaps tools.
    fn in_words(
        &self,
        messages: &[&PromptMessage],
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
        for message in messages {
            match message {
                PromptMessage::User { text } => {
                    let text = with_system(&std::mem::take(&mut system), text);
                    say("user", &hidden.hide(&text));
                }
                PromptMessage::Model { text } => say("assistant", &hidden.hide(text)),
                PromptMessage::ToolCall { name, arguments, envelope, .. } => {
                    let family = self.dialect.family;
                    let call = hidden.hide(&family.form.write(name, arguments));
                    let closing = family.closing.first().copied().unwrap_or_default();
                    match family.opening {
                        Opening::Marker(marker) => {
                            say("assistant", &format!("{marker}{call}{closing}"));
                        }
                        Opening::Answer(_) => say("assistant", &call),
                    }
                    let name = Value::from(&**name);
                    let result = match result_role {
                        "tool" => envelope.to_string(),
                        _ => format!(
                            r#"{{"tool_result": {{"name": {name}, "result": {envelope}}}}}"#
                        ),
                    };
                    say(result_role, &hidden.hide(&result));
                }
            }
        }
        chat.extend(turns.into_iter().map(|(role, text)| json!({"role": role, "content": text})));
        chat
    }

    /// Builds the system message, or the text before the first question if the template takes none.
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

    /// Builds the system text that all chats with these tools have.
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

/// Builds a call as a template takes it.
struct Called {
    id: String,
    name: Value,
    arguments: Value,
}

/// Some templates refuse ids of any other length.
const ID_LEN: usize = 9;

impl Called {
    fn new(
        call: &CallId,
        name: &str,
        arguments: &str,
        hidden: &mut Hidden,
        suspect: &dyn Fn(&str) -> bool,
    ) -> Self {
        let id = call.to_string().replace('-', "");
        let id = id[id.len().saturating_sub(ID_LEN)..].to_owned();
        let name = hidden.hide_suspects(&Value::from(name), suspect);
        let arguments = hidden.hide_json(&json_or_text(arguments), suspect);
        Self { id, name, arguments }
    }

    fn message(&self, said: &str) -> Value {
        let Self { id, name, arguments } = self;
        let function = json!({"name": name, "arguments": arguments});
        json!({
            "role": "assistant",
            "content": said,
            "tool_calls": [{"id": id, "type": "function", "function": function}],
        })
    }
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
