//! What each provider writes: texts, thoughts, calls and ends, in its own format.

use madang::model::remote::Provider;
use serde_json::{Value, json};

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// A piece of text.
pub(crate) fn says(provider: Provider, text: &str) -> String {
    match provider {
        Provider::OpenAi => event(&json!({ "choices": [{ "delta": { "content": text } }] })),
        Provider::Anthropic => event(&json!({
            "type": "content_block_delta", "index": 7,
            "delta": { "type": "text_delta", "text": text },
        })),
        Provider::Gemini => {
            event(&json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] }))
        }
        _ => line(&json!({ "message": { "content": text }, "done": false })),
    }
}

/// The end of an answer, with what it cost.
pub(crate) fn ends(provider: Provider) -> String {
    match provider {
        Provider::OpenAi => {
            let usage = json!({ "prompt_tokens": 5, "completion_tokens": 2 });
            let end =
                json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": usage });
            event(&end) + "data: [DONE]\n\n"
        }
        Provider::Anthropic => {
            let start =
                json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5 } } });
            let end = json!({
                "type": "message_delta", "delta": { "stop_reason": "end_turn" },
                "usage": { "output_tokens": 2 },
            });
            event(&start) + &event(&end)
        }
        Provider::Gemini => event(&json!({
            "candidates": [{ "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": 2 },
        })),
        _ => line(&json!({
            "message": { "content": "" }, "done": true, "done_reason": "stop",
            "prompt_eval_count": 5, "eval_count": 2,
        })),
    }
}

pub(crate) fn answer(provider: Provider, text: &str) -> String {
    says(provider, text) + &ends(provider)
}

/// Calls of tools without arguments, in one answer. Anthropic and Gemini sign the first with this.
pub(crate) fn calls(provider: Provider, names: &[&str], signature: &str) -> String {
    let numbered = names.iter().enumerate();
    let calls = match provider {
        Provider::OpenAi => {
            let calls: Vec<Value> = numbered
                .map(|(index, name)| {
                    let function = json!({ "name": name, "arguments": "{}" });
                    json!({ "index": index, "id": format!("c{index}"), "function": function })
                })
                .collect();
            event(&json!({ "choices": [{ "delta": { "tool_calls": calls } }] }))
        }
        Provider::Anthropic => {
            let thought = json!({ "type": "thinking", "thinking": "", "signature": signature });
            let begin = |index, block: Value| {
                event(
                    &json!({ "type": "content_block_start", "index": index, "content_block": block }),
                )
            };
            let thought =
                begin(0, thought) + &event(&json!({ "type": "content_block_stop", "index": 0 }));
            let calls = numbered.map(|(index, name)| {
                begin(
                    index + 1,
                    json!({ "type": "tool_use", "id": "t", "name": name, "input": {} }),
                )
            });
            thought + &calls.collect::<String>()
        }
        Provider::Gemini => {
            let parts = numbered.map(|(index, name)| {
                let call = json!({ "name": name, "args": {} });
                if index == 0 {
                    json!({ "functionCall": call, "thoughtSignature": signature })
                } else {
                    json!({ "functionCall": call })
                }
            });
            let parts: Vec<Value> = parts.collect();
            event(&json!({ "candidates": [{ "content": { "parts": parts } }] }))
        }
        _ => {
            let calls =
                names.iter().map(|name| json!({ "function": { "name": name, "arguments": {} } }));
            let calls: Vec<Value> = calls.collect();
            line(&json!({ "message": { "content": "", "tool_calls": calls }, "done": false }))
        }
    };
    calls + &ends(provider)
}
