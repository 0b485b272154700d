//! Which dialect a model speaks: its chat template, and how it writes tool calls.

use minijinja::Error;
use serde_json::{Value, json};
use tracing::warn;

use super::{
    gguf::Gguf,
    parser::{CALL_OPEN, CallSyntax},
    template::{ChatTemplate, TemplateInput},
};

/// How to talk with a model.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) template: ChatTemplate,
    pub(super) syntax: CallSyntax,
    /// Who tells the model of its tools.
    pub(super) listing: ToolListing,
    /// The template takes a system message; otherwise the system text goes in front of the first user message.
    pub(super) has_system: bool,
    /// Texts at which an answer ends, for models that have no token for it.
    pub(super) stops: &'static [&'static str],
}

/// Who tells the model of its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolListing {
    /// The template, or nobody: a model that was trained on its tools needs no list.
    Template,
    /// We do, in the system text.
    SystemText,
}

/// ChatML, for models that have its tokens and no template.
const CHATML: &str = "{%- for message in messages -%}
{{- '<|im_start|>' + (message.role if message.role != 'tool' else 'user') + '\\n' -}}
{%- if message.role == 'tool' -%}{{- '<tool_response>\\n' + message.content + '\\n</tool_response>' -}}
{%- else -%}{{- message.content -}}{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>\\n' + (call.function | tojson) + '\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\\n' -}}";

/// A play, for models that have nothing of the kind.
const PLAIN: &str = "{%- for message in messages -%}
{%- if message.role == 'system' -%}{{- message.content + '\\n\\n' -}}
{%- elif message.role == 'user' -%}{{- 'User: ' + message.content + '\\n' -}}
{%- else -%}{{- 'Assistant: ' + message.content + '\\n' -}}{%- endif -%}
{%- endfor -%}
{{- 'Assistant:' -}}";

const PLAIN_STOPS: &[&str] = &["\nUser:", "\nAssistant:"];
const CHATML_STOPS: &[&str] = &["<|im_end|>", "<|im_start|>"];

impl Dialect {
    /// Learns the dialect from the template, or from the vocabulary where there is none that works.
    pub(super) fn detect(gguf: &Gguf, has_token: &dyn Fn(&str) -> bool) -> Self {
        let sources = [&gguf.tool_template, &gguf.chat_template];
        for source in sources.into_iter().flatten() {
            match Self::of_template(source) {
                Ok(dialect) => return dialect,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    warn!(error, "failed to use the chat template of the model");
                }
            }
        }
        if has_token("<|im_start|>") {
            let syntax =
                if has_token(CALL_OPEN) { CallSyntax::Hermes } else { CallSyntax::Envelope };
            return Self::built_in(CHATML, syntax, CHATML_STOPS);
        }
        Self::built_in(PLAIN, CallSyntax::Envelope, PLAIN_STOPS)
    }

    fn built_in(source: &str, syntax: CallSyntax, stops: &'static [&'static str]) -> Self {
        let template = ChatTemplate::compile(source).expect("our own templates are tested");
        Self { template, syntax, listing: ToolListing::SystemText, has_system: true, stops }
    }

    fn of_template(source: &str) -> Result<Self, Error> {
        let template = ChatTemplate::compile(source)?;
        let user = json!({"role": "user", "content": "a"});
        let answer = json!({"role": "assistant", "content": "b"});
        probe(&template, &[user.clone(), answer, user.clone()])?;
        let system = json!({"role": "system", "content": "probe-system"});
        let has_system = probe(&template, &[system, user.clone()])
            .is_ok_and(|rendered| rendered.contains("probe-system"));
        let syntax = if writes_hermes_calls(source, &template) {
            CallSyntax::Hermes
        } else {
            CallSyntax::Envelope
        };
        let listing = match syntax {
            CallSyntax::Hermes => ToolListing::Template,
            CallSyntax::Envelope => ToolListing::SystemText,
        };
        Ok(Self { template, syntax, listing, has_system, stops: &[] })
    }
}

/// Whether a template writes a call as Hermes does: markers around a JSON object with name and arguments.
fn writes_hermes_calls(source: &str, template: &ChatTemplate) -> bool {
    if !source.contains(CALL_OPEN) {
        return false;
    }
    let call = json!({"id": "1", "type": "function", "function": {"name": "probe_name", "arguments": {"probe_key": 1}}});
    let chat = [
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "1", "name": "probe_name", "content": "{}"}),
    ];
    let Ok(rendered) = probe(template, &chat) else { return false };
    let Some((_, behind)) = rendered.split_once(CALL_OPEN) else { return false };
    let body = behind.split("</tool_call>").next().unwrap_or_default();
    serde_json::from_str::<Value>(body)
        .is_ok_and(|body| body["name"] == "probe_name" && body["arguments"]["probe_key"] == 1)
}

fn probe(template: &ChatTemplate, messages: &[Value]) -> Result<String, Error> {
    template.render(&TemplateInput { messages, tools: &[], bos: "", eos: "", has_thinking: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(template: Option<&str>, tokens: &[&str]) -> Dialect {
        let gguf = Gguf { chat_template: template.map(str::to_owned), ..Gguf::default() };
        Dialect::detect(&gguf, &|text| tokens.contains(&text))
    }

    #[test]
    fn a_template_that_writes_hermes_calls_speaks_hermes() {
        let dialect = detect(Some(CHATML), &[]);
        assert_eq!((dialect.syntax, dialect.listing), (CallSyntax::Hermes, ToolListing::Template));
        assert!(dialect.has_system);
    }

    #[test]
    fn markers_around_something_else_are_not_hermes() {
        let source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
                      <tool_call><function={{ c.function.name }}></function></tool_call>{% endfor %}{% endfor %}";
        assert_eq!(detect(Some(source), &[]).syntax, CallSyntax::Envelope);
    }

    #[test]
    fn a_template_without_system_messages_is_known() {
        let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}\
                      {{ m.content }}{% endfor %}";
        let dialect = detect(Some(source), &[]);
        assert!(!dialect.has_system);
        assert_eq!(
            (dialect.syntax, dialect.listing),
            (CallSyntax::Envelope, ToolListing::SystemText)
        );
    }

    #[test]
    fn without_a_template_that_works_the_vocabulary_decides() {
        let broken = "{% for %}";
        assert_eq!(
            detect(Some(broken), &["<|im_start|>", "<tool_call>"]).syntax,
            CallSyntax::Hermes
        );
        assert_eq!(detect(None, &["<|im_start|>"]).syntax, CallSyntax::Envelope);
        assert_eq!(detect(None, &[]).stops, PLAIN_STOPS);
    }

    #[test]
    fn the_built_in_templates_render_a_whole_chat() {
        let call = json!({"function": {"name": "a", "arguments": {"x": 1}}});
        let chat = [
            json!({"role": "system", "content": "s"}),
            json!({"role": "user", "content": "u"}),
            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
            json!({"role": "tool", "content": "{}"}),
        ];
        let chatml = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n\
                      <tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n</tool_call><|im_end|>\n\
                      <|im_start|>user\n<tool_response>\n{}\n</tool_response><|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(probe(&ChatTemplate::compile(CHATML).unwrap(), &chat).unwrap(), chatml);
        let plain = probe(&ChatTemplate::compile(PLAIN).unwrap(), &chat[..2]).unwrap();
        assert_eq!(plain, "s\n\nUser: u\nAssistant:");
    }
}
