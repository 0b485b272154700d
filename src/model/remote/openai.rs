//! OpenAI's Chat Completions, and servers that speak it.

use madang_actors::protocol::{CompletionRequest, FinishReason};
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, Broken, PartialCall, text, tokens},
    conversation::{Entry, PastCall},
    options::RemoteOptions,
    reader::Reader,
    system,
};

/// Writes the body of a request. Servers that do not know `max_completion_tokens` know `max_tokens`.
pub(super) fn body(
    options: &RemoteOptions,
    request: &CompletionRequest,
    entries: &[Entry<'_>],
    has_old_bound: bool,
) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = system(request) {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for entry in entries {
        match entry {
            Entry::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Entry::Model { text, calls } => {
                let mut message = Map::new();
                message.insert("role".to_owned(), "assistant".into());
                if !text.is_empty() {
                    message.insert("content".to_owned(), (&**text).into());
                }
                if !calls.is_empty() {
                    message.insert("tool_calls".to_owned(), calls.iter().map(asked).collect());
                }
                messages.push(message.into());
                messages.extend(calls.iter().map(|call| {
                    json!({ "role": "tool", "tool_call_id": call.id, "content": call.result })
                }));
            }
        }
    }
    let bound = if has_old_bound { "max_tokens" } else { "max_completion_tokens" };
    let mut body = json!({
        "model": options.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
        bound: request.max_tokens,
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| tool.to_openai()).collect();
    }
    body
}

fn asked(call: &PastCall<'_>) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

/// Reads a stream of chunks.
#[derive(Debug)]
pub(super) struct OpenAiReader;

impl Reader for OpenAiReader {
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken> {
        if let Some(error) = frame.get("error").filter(|error| !error.is_null()) {
            let code = [text(error, "/code"), text(error, "/type"), "error"];
            let code = code.into_iter().find(|code| !code.is_empty()).unwrap_or_default();
            return Err(Broken::Failed(code.to_owned()));
        }
        let usage = &mut answer.usage;
        usage.prompt_tokens = tokens(frame, "/usage/prompt_tokens").unwrap_or(usage.prompt_tokens);
        let spent = tokens(frame, "/usage/completion_tokens");
        usage.completion_tokens = spent.unwrap_or(usage.completion_tokens);
        let Some(choice) = frame.pointer("/choices/0") else { return Ok(()) };
        for name in ["/delta/reasoning_content", "/delta/reasoning"] {
            answer.thinks(text(choice, name))?;
        }
        answer.says(text(choice, "/delta/content"))?;
        let refusal = text(choice, "/delta/refusal");
        if !refusal.is_empty() {
            return Err(Broken::Refused("refusal".to_owned()));
        }
        let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let place = place(call, answer)?;
            match call.pointer("/function/arguments") {
                Some(Value::String(part)) => answer.adds(place, part)?,
                Some(whole @ Value::Object(_)) => answer.adds(place, &whole.to_string())?,
                _ => {}
            }
        }
        match text(choice, "/finish_reason") {
            "" => {}
            "length" | "max_tokens" | "model_length" => answer.finish = Some(FinishReason::Length),
            "tool_calls" | "function_call" | "tool_use" => {
                answer.calls_end();
                answer.finish = Some(FinishReason::ToolCalls);
            }
            "content_filter" => return Err(Broken::Refused("content_filter".to_owned())),
            "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => {
                answer.calls_end();
                answer.finish = Some(FinishReason::Stop);
            }
            // A word of the server's own, such as `abort`: it may have ended anywhere.
            _ => answer.finish = Some(FinishReason::Stop),
        }
        Ok(())
    }
}

/// Finds the call to which a piece belongs, or begins one. A piece goes on with a call only if nothing in it contradicts
/// that: servers give two calls one index, or one id, or none.
fn place(piece: &Value, answer: &mut Answer) -> Result<usize, Broken> {
    let (id, name) = (text(piece, "/id"), text(piece, "/function/name"));
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
    let (id, name) = (id.to_owned(), name.to_owned());
    answer.begins(PartialCall { number, id, name, ..PartialCall::default() })
}
