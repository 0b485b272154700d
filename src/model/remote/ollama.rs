//! Ollama's own format: lines of JSON.

use madang_actors::protocol::{CompletionRequest, FinishReason};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    broken::Broken,
    conversation::Entry,
    json::{text, tokens},
    members::{add_members, end_of_text, keep, speak},
    options::RemoteOptions,
    reader::Reader,
    refusal::ModelRefusal,
    system,
    think_tag::ThinkTag,
};

/// Writes the body of a request. It names the context's size, because Ollama otherwise cuts a
/// prompt to 4,096 tokens.
pub(super) fn body(
    options: &RemoteOptions,
    request: &CompletionRequest,
    entries: &[Entry<'_>],
) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = system(request) {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for entry in entries {
        match entry {
            Entry::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Entry::Model { text, calls } => {
                let mut message = json!({ "role": "assistant", "content": text });
                add_members(&mut message, calls.first());
                if !calls.is_empty() {
                    let asked = calls.iter().map(|call| {
                        json!({ "function": { "name": call.name, "arguments": call.arguments } })
                    });
                    message["tool_calls"] = asked.collect();
                }
                messages.push(message);
                messages.extend(calls.iter().map(|call| {
                    json!({ "role": "tool", "tool_name": call.name, "content": call.result })
                }));
            }
        }
    }
    let mut body = json!({
        "model": options.model,
        "messages": messages,
        "stream": true,
        "options": { "num_predict": request.max_tokens, "num_ctx": options.context_tokens },
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| tool.to_openai()).collect();
    }
    if options.thinking_tokens.is_some() {
        body["think"] = true.into();
    }
    body
}

/// Reads a stream of lines.
#[derive(Debug)]
pub(super) struct OllamaReader {
    pub(super) think_tag: ThinkTag,
}

impl Reader for OllamaReader {
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken> {
        if frame.get("error").is_some() {
            return Err(Broken::failed(ModelRefusal::in_frame(frame)));
        }
        let thought = text(frame, "/message/thinking");
        answer.thinks(thought)?;
        keep(answer, "thinking", thought);
        speak(&mut self.think_tag, text(frame, "/message/content"), answer)?;
        let calls = frame.pointer("/message/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            answer.asks(text(call, "/function/name"), call.pointer("/function/arguments"), None)?;
        }
        if frame.get("done") == Some(&Value::Bool(true)) {
            let usage = &mut answer.usage;
            usage.prompt_tokens = tokens(frame, "/prompt_eval_count").unwrap_or(0);
            usage.completion_tokens = tokens(frame, "/eval_count").unwrap_or(0);
            let is_cut = text(frame, "/done_reason") == "length";
            let finish = if is_cut { FinishReason::Length } else { FinishReason::Stop };
            answer.finish = Some(finish);
        }
        Ok(())
    }

    fn end(&mut self, answer: &mut Answer) -> Result<(), Broken> {
        end_of_text(&mut self.think_tag, answer)
    }
}
