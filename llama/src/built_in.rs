//! Chat templates for models whose file has no usable one.

/// ChatML, for models that have its tokens and no template.
pub(super) const CHATML: &str = "{%- for message in messages -%}
{{- '<|im_start|>' + (message.role if message.role != 'tool' else 'user') + '\\n' -}}
{%- if message.role == 'tool' -%}{{- '<tool_response>\\n' + message.content + '\\n</tool_response>' -}}
{%- else -%}{{- message.content -}}{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>\\n' + (call.function | tojson) + '\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\\n' -}}";

/// A dialogue with the names of the speakers, for models that have neither.
pub(super) const PLAIN: &str = "{%- for message in messages -%}
{%- if message.role == 'system' -%}{{- message.content + '\\n\\n' -}}
{%- elif message.role == 'user' -%}{{- 'User: ' + message.content + '\\n' -}}
{%- else -%}{{- 'Assistant: ' + message.content + '\\n' -}}{%- endif -%}
{%- endfor -%}
{{- 'Assistant:' -}}";

pub(super) const PLAIN_STOPS: &[&str] = &["\nUser:", "\nAssistant:"];
pub(super) const CHATML_STOPS: &[&str] = &["<|im_end|>", "<|im_start|>"];
