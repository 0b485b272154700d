//! Google's Gemini format. Calls are sent back with the signatures that they came with.

use madang_actors::protocol::{CompletionRequest, FinishReason, ToolSpec};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    broken::Broken,
    conversation::{Entry, PastCall},
    json::{text, tokens},
    options::RemoteOptions,
    quirks::{Quirk, Quirks},
    reader::Reader,
    refusal::ModelRefusal,
    system,
};

/// Writes the body of a request.
pub(super) fn body(
    options: &RemoteOptions,
    request: &CompletionRequest,
    entries: &[Entry<'_>],
    quirks: Quirks,
) -> Value {
    let mut contents = Vec::new();
    for entry in entries {
        match entry {
            Entry::User(text) => {
                contents.push(json!({ "role": "user", "parts": [{ "text": text }] }));
            }
            Entry::Model { text, calls } => {
                let said = (!text.is_empty()).then(|| json!({ "text": text }));
                let asked = calls.iter().enumerate().map(|(index, call)| {
                    let wants_one = index == 0 && quirks.has(Quirk::EmptySignatures);
                    asked(call, wants_one)
                });
                let parts: Vec<Value> = said.into_iter().chain(asked).collect();
                contents.push(json!({ "role": "model", "parts": parts }));
                if !calls.is_empty() {
                    let parts: Vec<Value> = calls.iter().map(result).collect();
                    contents.push(json!({ "role": "user", "parts": parts }));
                }
            }
        }
    }
    let mut config = json!({ "maxOutputTokens": request.max_tokens });
    if let Some(tokens) = options.thinking_tokens {
        // Thoughts count against the bound.
        config["maxOutputTokens"] = request.max_tokens.saturating_add(tokens).into();
        config["thinkingConfig"] = json!({ "includeThoughts": true, "thinkingBudget": tokens });
    }
    let mut body = json!({ "contents": contents, "generationConfig": config });
    if let Some(system) = system(request) {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(declared).collect();
        body["tools"] = json!([{ "functionDeclarations": tools }]);
    }
    body
}

fn declared(tool: &ToolSpec) -> Value {
    json!({
        "name": &*tool.name,
        "description": &*tool.description,
        "parametersJsonSchema": &*tool.parameters,
    })
}

/// What Gemini accepts as the signature of a call that another model made.
pub(super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

fn asked(call: &PastCall<'_>, wants_signature: bool) -> Value {
    let mut part = json!({
        "functionCall": { "id": call.id, "name": call.name, "args": call.arguments },
    });
    if let Some(signature) = &call.signature {
        part["thoughtSignature"] = signature.clone();
    } else if wants_signature {
        part["thoughtSignature"] = NO_SIGNATURE.into();
    }
    part
}

/// Writes a result, which must be an object.
fn result(call: &PastCall<'_>) -> Value {
    let response = match serde_json::from_str(call.result) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "result": call.result }),
    };
    json!({ "functionResponse": { "id": call.id, "name": call.name, "response": response } })
}

/// Reads a stream of responses.
#[derive(Debug)]
pub(super) struct GeminiReader;

impl Reader for GeminiReader {
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken> {
        if frame.get("error").is_some() {
            return Err(Broken::failed(ModelRefusal::in_frame(frame)));
        }
        let blocked = text(frame, "/promptFeedback/blockReason");
        if !blocked.is_empty() {
            return Err(Broken::refused(blocked));
        }
        let usage = &mut answer.usage;
        let prompt = tokens(frame, "/usageMetadata/promptTokenCount");
        usage.prompt_tokens = prompt.unwrap_or(usage.prompt_tokens);
        let spent = tokens(frame, "/usageMetadata/candidatesTokenCount").unwrap_or(0);
        let thought = tokens(frame, "/usageMetadata/thoughtsTokenCount").unwrap_or(0);
        usage.completion_tokens = usage.completion_tokens.max(spent.saturating_add(thought));
        let parts = frame.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(call) = part.get("functionCall") {
                let signature = part.get("thoughtSignature");
                answer.asks(text(call, "/name"), call.get("args"), signature)?;
            } else if part.get("thought") == Some(&Value::Bool(true)) {
                answer.thinks(text(part, "/text"))?;
            } else {
                answer.says(text(part, "/text"))?;
            }
        }
        match text(frame, "/candidates/0/finishReason") {
            "" => {}
            "STOP" => answer.finish = Some(FinishReason::Stop),
            "MAX_TOKENS" => answer.finish = Some(FinishReason::Length),
            wrong @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => {
                return Err(Broken::bad(wrong.to_owned()));
            }
            refused => return Err(Broken::refused(refused)),
        }
        Ok(())
    }
}
