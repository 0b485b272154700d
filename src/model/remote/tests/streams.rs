//! Whole streams, cut at every byte.

use expect_test::{Expect, expect};

use super::{super::provider::Provider, read};

/// Reads a stream as a whole and in two pieces, cut at every byte, and byte by byte: the same each
/// time.
fn check(provider: Provider, stream: &str, expected: &Expect) {
    let bytes = stream.as_bytes();
    let whole = show(provider, &[bytes]);
    expected.assert_eq(&whole);
    for cut in 0..=bytes.len() {
        let (before, behind) = bytes.split_at(cut);
        assert_eq!(show(provider, &[before, behind]), whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(show(provider, &single), whole, "byte by byte");
    let with_returns = stream.replace('\n', "\r\n");
    assert_eq!(show(provider, &[with_returns.as_bytes()]), whole, "with carriage returns");
}

fn show(provider: Provider, pieces: &[&[u8]]) -> String {
    let (heard, ended) = read(provider, pieces);
    let completion = ended.unwrap().expect("the stream has its end");
    let mut lines = heard;
    for call in &completion.tool_calls {
        lines.push(format!("calls {} {}", call.name, call.arguments));
        lines.extend(call.opaque.as_ref().map(|opaque| format!("  with {opaque}")));
    }
    let usage = completion.usage;
    lines.push(format!(
        "{:?}, {} and {} tokens",
        completion.finish, usage.prompt_tokens, usage.completion_tokens
    ));
    assert_eq!(usage.cached_tokens, 0, "what a provider cached may be of another user");
    lines.join("\n")
}

#[test]
fn openai_speaks() {
    check(
        Provider::OpenAi,
        concat!(
            ": a comment\n\n",
            r#"data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{"content":"안녕"},"finish_reason":null}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{"content":", \"Kim\"\n"},"finish_reason":null}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "\n\n",
            r#"data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
        &expect![[r#"
            began
            says 안녕, "Kim"

            Stop, 9 and 4 tokens"#]],
    );
}

#[test]
fn openai_thinks_and_calls_twice_at_once() {
    check(
        Provider::OpenAi,
        concat!(
            r#"data: {"choices":[{"delta":{"reasoning_content":"Two "}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{"reasoning_content":"calls."}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"word\":\"\\ud5"}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"5c\"}"}},{"index":1,"id":"b","function":{"name":"list","arguments":""}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":11}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
        &expect![[r#"
            began
            thinks Two calls.
            calls look {"word":"\ud55c"}
              with {"model":"openai:m","calls":2,"thoughts":[{"reasoning_content":"Two calls."}]}
            calls list {}
            ToolCalls, 20 and 11 tokens"#]],
    );
}

#[test]
fn a_server_that_numbers_no_calls_and_sends_whole_ones_is_read_too() {
    check(
        Provider::OpenAi,
        concat!(
            r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":{"word":"x"}}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"list"}}]},"finish_reason":"stop"}]}"#,
            "\n\n",
        ),
        &expect![[r#"
            began
            calls look {"word":"x"}
              with {"model":"openai:m","calls":2}
            calls list {}
            ToolCalls, 0 and 0 tokens"#]],
    );
}

#[test]
fn anthropic_thinks_speaks_and_calls() {
    check(
        Provider::Anthropic,
        concat!(
            "event: message_start\n",
            r#"data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#,
            "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n",
            r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look "}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"first."}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB=="}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop","index":0}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"opaque"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"볼게요."}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop","index":2}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"look","input":{}}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"word\": \"\\u"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"d55c\"}"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop","index":3}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t2","name":"list","input":{}}}"#,
            "\n\n",
            r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":33}}"#,
            "\n\n",
            r#"data: {"type":"message_stop"}"#,
            "\n\n",
        ),
        &expect![[r#"
            began
            thinks Look first.
            says 볼게요.
            calls look {"word": "\ud55c"}
              with {"model":"anthropic:m","calls":2,"thoughts":[{"type":"thinking","thinking":"Look first.","signature":"EqQB=="},{"type":"redacted_thinking","data":"opaque"}]}
            calls list {}
            ToolCalls, 15 and 33 tokens"#]],
    );
}

#[test]
fn gemini_thinks_speaks_and_calls_twice_with_one_signature() {
    check(
        Provider::Gemini,
        concat!(
            r#"data: {"candidates":[{"content":{"parts":[{"text":"Look first.","thought":true}],"role":"model"}}],"usageMetadata":{"promptTokenCount":12}}"#,
            "\n\n",
            r#"data: {"candidates":[{"content":{"parts":[{"text":"볼게요."}]}}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"thoughtsTokenCount":20}}"#,
            "\n\n",
            r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"word":"한"}},"thoughtSignature":"CiEB"},{"functionCall":{"name":"list"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":9,"thoughtsTokenCount":20}}"#,
            "\n\n",
        ),
        &expect![[r#"
            began
            thinks Look first.
            says 볼게요.
            calls look {"word":"한"}
              with {"model":"gemini:m","calls":2,"signature":"CiEB"}
            calls list {}
            ToolCalls, 12 and 29 tokens"#]],
    );
}

#[test]
fn ollama_thinks_speaks_and_calls() {
    check(
        Provider::Ollama,
        concat!(
            r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"Look first."},"done":false}"#,
            "\n",
            r#"{"model":"m","message":{"role":"assistant","content":"볼게요."},"done":false}"#,
            "\n",
            r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":{"word":"한"}}}]},"done":false}"#,
            "\n",
            r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":18}"#,
            "\n",
        ),
        &expect![[r#"
            began
            thinks Look first.
            says 볼게요.
            calls look {"word":"한"}
              with {"model":"ollama:m","calls":1,"thoughts":[{"thinking":"Look first."}]}
            ToolCalls, 26 and 18 tokens"#]],
    );
}

#[test]
fn an_answer_that_reached_its_bound_says_so() {
    for (provider, stream) in [
        (
            Provider::OpenAi,
            r#"data: {"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#,
        ),
        (
            Provider::Anthropic,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
        ),
        (Provider::Gemini, r#"data: {"candidates":[{"finishReason":"MAX_TOKENS"}]}"#),
        (Provider::Ollama, r#"{"message":{"content":"x"},"done":true,"done_reason":"length"}"#),
    ] {
        let shown = show(provider, &[stream.as_bytes(), b"\n\n"]);
        assert!(shown.contains("Length"), "{provider:?}: {shown}");
    }
}
