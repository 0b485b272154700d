//! OpenAI's Chat Completions format, and servers that speak it. What a model thought before a call
//! is sent back under the name under which it came.

use madang_actors::protocol::{CompletionRequest, FinishReason};
use serde_json::{Value, json};

use super::{
    answer::{Answer, PartialCall},
    broken::Broken,
    conversation::{Entry, PastCall},
    gemini::NO_SIGNATURE,
    json::{text, tokens},
    members::{add_members, end_of_text, keep, keep_details, speak},
    options::RemoteOptions,
    quirks::{Quirk, Quirks},
    reader::Reader,
    refusal::ModelRefusal,
    system,
    think_tag::ThinkTag,
};

/// Writes the body of a request. Servers that do not know `max_completion_tokens` know
/// `max_tokens`.
pub(super) fn body(
    options: &RemoteOptions,
    request: &CompletionRequest,
    entries: &[Entry<'_>],
    quirks: Quirks,
) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = system(request) {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for entry in entries {
        match entry {
            Entry::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Entry::Model { text, calls } => {
                let mut message = json!({ "role": "assistant", "content": null });
                if !text.is_empty() {
                    message["content"] = (&**text).into();
                }
                add_members(&mut message, calls.first());
                if quirks.has(Quirk::EmptyThoughts) && message.get("reasoning_content").is_none() {
                    message["reasoning_content"] = "".into();
                }
                if !calls.is_empty() {
                    let mut asked: Vec<Value> = calls.iter().map(asked).collect();
                    if quirks.has(Quirk::EmptySignatures) && calls[0].signature.is_none() {
                        asked[0]["extra_content"] =
                            json!({ "google": { "thought_signature": NO_SIGNATURE } });
                    }
                    message["tool_calls"] = asked.into();
                }
                messages.push(message);
                messages.extend(calls.iter().map(|call| {
                    json!({ "role": "tool", "tool_call_id": call.id, "content": call.result })
                }));
            }
        }
    }
    let bound = if quirks.has(Quirk::OldBound) { "max_tokens" } else { "max_completion_tokens" };
    let mut body = json!({
        "model": options.model,
        "messages": messages,
        "stream": true,
        bound: request.max_tokens,
    });
    if !quirks.has(Quirk::NoStreamOptions) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| tool.to_openai()).collect();
    }
    body
}

fn asked(call: &PastCall<'_>) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let mut asked = json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    });
    if let Some(signature) = &call.signature {
        asked["extra_content"] = signature.clone();
    }
    asked
}

/// Reads a stream of chunks.
#[derive(Debug)]
pub(super) struct OpenAiReader {
    think_tag: ThinkTag,
    /// What the model says in place of an answer.
    refusal: String,
}

impl OpenAiReader {
    pub(super) const fn new(think_tag: ThinkTag) -> Self {
        Self { think_tag, refusal: String::new() }
    }
}

impl Reader for OpenAiReader {
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken> {
        if frame.get("error").is_some_and(|error| !error.is_null())
            || text(frame, "/object") == "error"
        {
            return Err(Broken::failed(ModelRefusal::in_frame(frame)));
        }
        let usage = &mut answer.usage;
        usage.prompt_tokens = tokens(frame, "/usage/prompt_tokens").unwrap_or(usage.prompt_tokens);
        let spent = tokens(frame, "/usage/completion_tokens");
        usage.completion_tokens = spent.unwrap_or(usage.completion_tokens);
        let Some(choice) = frame.pointer("/choices/0") else { return Ok(()) };
        // An answer that is not a stream has a message instead of the delta.
        let delta = choice.get("delta").filter(|delta| delta.is_object());
        let Some(delta) = delta.or_else(|| choice.get("message")) else {
            return finished(choice, answer);
        };
        thinks(delta, answer)?;
        match delta.get("content") {
            Some(Value::String(text)) => speak(&mut self.think_tag, text, answer)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    if let Some(thought) = part.get("thinking").and_then(Value::as_array) {
                        thought.iter().try_for_each(|part| answer.thinks(text(part, "/text")))?;
                        // Mistral takes them back as they came: a list in place of the text.
                        answer.takes(part.to_string().len())?;
                        keep_details(answer, "content", part);
                    }
                    speak(&mut self.think_tag, text(part, "/text"), answer)?;
                }
            }
            _ => {}
        }
        let refusal = text(delta, "/refusal");
        if !refusal.is_empty() {
            answer.takes(refusal.len())?;
            self.refusal.push_str(refusal);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let place = place(call, answer)?;
            if let Some(signature) = call.get("extra_content").filter(|extra| extra.is_object()) {
                answer.takes(signature.to_string().len())?;
                answer.calls[place].signature = Some(signature.clone());
            }
            match call.pointer("/function/arguments") {
                Some(Value::String(part)) => answer.adds(place, part)?,
                Some(whole @ Value::Object(_)) => answer.adds(place, &whole.to_string())?,
                _ => {}
            }
        }
        finished(choice, answer)
    }

    fn end(&mut self, answer: &mut Answer) -> Result<(), Broken> {
        if !self.refusal.is_empty() {
            return Err(Broken::refused(&self.refusal));
        }
        end_of_text(&mut self.think_tag, answer)
    }
}

/// The names of a thought that is a text. Servers that use both send the same text under both.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
/// The names of a thought in parts, which models sign.
const DETAILS: [&str; 2] = ["reasoning_details", "thinking_blocks"];

/// Reads what the model thinks, and keeps it as the server wants it back.
fn thinks(delta: &Value, answer: &mut Answer) -> Result<(), Broken> {
    let of = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
    let thought = THOUGHTS.into_iter().find(|name| !of(name).is_empty());
    if let Some(name) = thought {
        answer.thinks(of(name))?;
        keep(answer, name, of(name));
    }
    for name in DETAILS {
        let parts = delta.get(name).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if thought.is_none() && name == DETAILS[0] {
                answer.thinks([text(part, "/text"), text(part, "/summary")].concat().as_str())?;
            }
            answer.takes(part.to_string().len())?;
            keep_details(answer, name, part);
        }
    }
    Ok(())
}

/// Reads why the answer ended, if it did.
fn finished(choice: &Value, answer: &mut Answer) -> Result<(), Broken> {
    let reason = text(choice, "/finish_reason").to_ascii_lowercase();
    // Gemini names the filter after a colon.
    let (word, filter) = reason.split_once(':').unwrap_or((&reason, ""));
    match word {
        "" => {}
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => {
            answer.finish = Some(FinishReason::Length);
        }
        "tool_calls" | "function_call" | "tool_use" => {
            answer.calls_end();
            answer.finish = Some(FinishReason::ToolCalls);
        }
        "content_filter" | "sensitive" | "guardrail_intervened" => {
            return Err(Broken::refused(filter.trim()));
        }
        "function_call_filter" => return Err(Broken::bad(reason)),
        // The server gave up, and the answer may be incomplete at any place.
        "error" | "network_error" | "abort" | "insufficient_system_resource" => {
            return Err(Broken::failed(ModelRefusal::in_text(reason.as_bytes())));
        }
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => {
            answer.calls_end();
            answer.finish = Some(FinishReason::Stop);
        }
        // A word of the server's own: it may have ended anywhere.
        _ => answer.finish = Some(FinishReason::Stop),
    }
    Ok(())
}

/// Finds the call to which a piece belongs, or begins one. A piece continues a call only if nothing
/// in it contradicts that, because servers send two calls with one index, with one id, or with
/// none.
fn place(piece: &Value, answer: &mut Answer) -> Result<usize, Broken> {
    let id = text(piece, "/id");
    let name = text(piece, "/function/name");
    let index = piece.get("index");
    let number = index.and_then(|index| index.as_u64().or_else(|| index.as_str()?.parse().ok()));
    let own = |call: &PartialCall| number.is_none() || call.number == number;
    let of_id = |call: &PartialCall| own(call) && !id.is_empty() && call.id == id;
    let found = answer.calls.iter().rposition(of_id);
    let found = found.or_else(|| answer.calls.iter().rposition(own));
    if let Some(place) = found {
        let call = &mut answer.calls[place];
        let has_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let repeats = call.name == name && (!call.id.is_empty() && call.id == id);
        if !has_other_id && (name.is_empty() || call.name.is_empty() || repeats) {
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            return Ok(place);
        }
        if !has_other_id && !call.is_whole() {
            return Err(Broken::bad("a call has two names"));
        }
    }
    let id = id.to_owned();
    let name = name.to_owned();
    answer.begins(PartialCall { number, id, name, ..PartialCall::default() })
}
