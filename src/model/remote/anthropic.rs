//! Anthropic's Messages format. Thoughts before a call are sent back with it, with the signatures
//! that they came with.

use std::collections::BTreeMap;

use madang_actors::protocol::{CompletionRequest, FinishReason};
use serde_json::{Value, json};

use super::{
    answer::{Answer, PartialCall},
    broken::Broken,
    conversation::Entry,
    json::{text, tokens},
    options::RemoteOptions,
    reader::Reader,
    refusal::ModelRefusal,
    system,
};

/// Writes the body of a request. Results are in the user's next message, before its text.
pub(super) fn body(
    options: &RemoteOptions,
    request: &CompletionRequest,
    entries: &[Entry<'_>],
) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut say = |role, blocks: Vec<Value>| match messages.last_mut() {
        Some((last, before)) if *last == role => before.extend(blocks),
        _ => messages.push((role, blocks)),
    };
    for entry in entries {
        match entry {
            Entry::User(text) => say("user", vec![block(text)]),
            Entry::Model { text, calls } => {
                let mut blocks = Vec::new();
                if let Some(first) = calls.first() {
                    blocks.extend(first.thoughts.iter().cloned());
                }
                if !text.is_empty() {
                    blocks.push(block(text));
                }
                blocks.extend(calls.iter().map(|call| {
                    let id = &call.id;
                    let name = &call.name;
                    let input = &call.arguments;
                    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
                }));
                say("assistant", blocks);
                if !calls.is_empty() {
                    let result = calls.iter().map(|call| {
                        let id = &call.id;
                        let content = call.result;
                        json!({ "type": "tool_result", "tool_use_id": id, "content": content })
                    });
                    say("user", result.collect());
                }
            }
        }
    }
    let messages = messages.into_iter();
    let messages = messages.map(|(role, content)| json!({ "role": role, "content": content }));
    let mut body = json!({
        "model": options.model,
        "messages": messages.collect::<Vec<_>>(),
        "stream": true,
        // Thoughts count against the bound, and it must be above theirs.
        "max_tokens": request.max_tokens.saturating_add(options.thinking_tokens.unwrap_or(0)),
    });
    if let Some(system) = system(request) {
        body["system"] = system.into();
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| tool.to_anthropic()).collect();
    }
    if let Some(tokens) = options.thinking_tokens {
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens });
    }
    body
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Reads a stream of events.
#[derive(Debug, Default)]
pub(super) struct AnthropicReader {
    /// Thoughts that have not ended, by the number of their block.
    open: BTreeMap<u64, Value>,
}

/// The most thoughts that are open at once; Anthropic has one.
const MAX_OPEN: usize = 16;

impl Reader for AnthropicReader {
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken> {
        let index = frame.get("index").and_then(Value::as_u64).unwrap_or_default();
        match text(frame, "/type") {
            "message_start" => {
                let of = |name| tokens(frame, &format!("/message/usage/{name}")).unwrap_or(0);
                answer.usage.prompt_tokens = of("input_tokens")
                    .saturating_add(of("cache_read_input_tokens"))
                    .saturating_add(of("cache_creation_input_tokens"));
            }
            "content_block_start" => self.begins(index, &frame["content_block"], answer)?,
            "content_block_delta" => self.goes_on(index, &frame["delta"], answer)?,
            "content_block_stop" => {
                answer.thoughts.extend(self.open.remove(&index));
                if let Some(place) = answer.numbered(index) {
                    answer.calls[place].has_ended = true;
                }
            }
            "message_delta" => {
                let usage = &mut answer.usage;
                let spent = tokens(frame, "/usage/output_tokens");
                usage.completion_tokens = spent.unwrap_or(usage.completion_tokens);
                match text(frame, "/delta/stop_reason") {
                    "" => {}
                    "refusal" => return Err(Broken::refused("")),
                    "max_tokens" | "model_context_window_exceeded" => {
                        answer.finish = Some(FinishReason::Length);
                    }
                    "tool_use" => {
                        answer.calls_end();
                        answer.finish = Some(FinishReason::ToolCalls);
                    }
                    "end_turn" | "stop_sequence" => {
                        answer.calls_end();
                        answer.finish = Some(FinishReason::Stop);
                    }
                    _ => answer.finish = Some(FinishReason::Stop),
                }
            }
            "error" => return Err(Broken::failed(ModelRefusal::in_frame(frame))),
            _ => {} // pings, the end of the message, and what is new
        }
        Ok(())
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) -> Result<(), Broken> {
        if text(value, "/type") != "message" {
            return self.push(value, answer);
        }
        self.push(&json!({ "type": "message_start", "message": value }), answer)?;
        let blocks = value.get("content").and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            let begins =
                json!({ "type": "content_block_start", "index": index, "content_block": block });
            self.push(&begins, answer)?;
            self.push(&json!({ "type": "content_block_stop", "index": index }), answer)?;
        }
        let end = json!({ "type": "message_delta", "delta": value, "usage": value["usage"] });
        self.push(&end, answer)
    }
}

impl AnthropicReader {
    fn begins(&mut self, index: u64, block: &Value, answer: &mut Answer) -> Result<(), Broken> {
        match text(block, "/type") {
            "text" => answer.says(text(block, "/text")),
            "tool_use" => {
                if answer.numbered(index).is_some_and(|place| !answer.calls[place].has_ended) {
                    return Err(Broken::bad("two calls of one number are open"));
                }
                let name = text(block, "/name").to_owned();
                let number = Some(index);
                let place =
                    answer.begins(PartialCall { name, number, ..PartialCall::default() })?;
                match block.get("input") {
                    Some(Value::Object(input)) if !input.is_empty() => {
                        answer.adds(place, &block["input"].to_string())
                    }
                    _ => Ok(()),
                }
            }
            "thinking" => {
                answer.takes(0)?;
                answer.thinks(text(block, "/thinking"))?;
                if self.open.len() == MAX_OPEN {
                    return Err(Broken::bad("too many thoughts at once"));
                }
                self.open.insert(index, block.clone());
                Ok(())
            }
            "redacted_thinking" => {
                answer.takes(block.to_string().len())?;
                answer.thoughts.push(block.clone());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn goes_on(&mut self, index: u64, delta: &Value, answer: &mut Answer) -> Result<(), Broken> {
        match text(delta, "/type") {
            "text_delta" => answer.says(text(delta, "/text")),
            "input_json_delta" => {
                let place = answer.numbered(index).filter(|at| !answer.calls[*at].has_ended);
                let place = place.ok_or_else(|| Broken::bad("arguments of no call"))?;
                answer.adds(place, text(delta, "/partial_json"))
            }
            "thinking_delta" => {
                let part = text(delta, "/thinking");
                answer.thinks(part)?;
                self.add("thinking", index, part);
                Ok(())
            }
            "signature_delta" => {
                let part = text(delta, "/signature");
                answer.takes(part.len())?;
                self.add("signature", index, part);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, name: &str, index: u64, part: &str) {
        if let Some(block) = self.open.get_mut(&index) {
            match block.get_mut(name) {
                Some(Value::String(whole)) => whole.push_str(part),
                _ => block[name] = part.into(),
            }
        }
    }
}
