//! Reads the answer to a call: what the model is given, and what is left out by name. Pure.

use madang::tool::ToolOutcome;
use serde_json::{Value, json};

use super::{
    limits::{MAX_ERROR_BYTES, MAX_NAMED_BLOCKS, MAX_RESULT_BYTES},
    text::{cut, visible},
};

/// Reads how a call ended, from the result of the method `tools/call`. `None` where the server began something that goes
/// on, or answered what is no result of a call.
pub(super) fn outcome(server: &str, result: &Value) -> Option<ToolOutcome> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => {}
        Some("input_required") => return Some(input_required(server)),
        Some(_) => return None,
    }
    let structured = result.get("structuredContent").filter(|content| !content.is_null());
    let blocks = result.get("content").and_then(Value::as_array);
    if structured.is_none() && blocks.is_none() && result.get("isError").is_none() {
        return None;
    }
    let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Some(reported_error(server, &texts.join("\n")));
    }
    let data = match (structured, texts.as_slice()) {
        (Some(content), _) => content.clone(),
        (None, [text]) => json!(text),
        (None, texts) => json!(texts),
    };
    let left_out: Vec<String> =
        blocks.iter().filter(|block| text_of(block).is_none()).map(name_of).collect();
    let data = if left_out.is_empty() {
        data
    } else {
        json!({ "result": data, "left_out": named(left_out) })
    };
    let bytes = data.to_string().len();
    Some(ToolOutcome::ok(if bytes <= MAX_RESULT_BYTES {
        data
    } else {
        let hint =
            format!("it ended well, but its result of {bytes} bytes is too large to be shown");
        json!({ "_truncated": true, "_hint": hint })
    }))
}

/// Makes the outcome of an error that the server itself reports.
pub(super) fn reported_error(server: &str, text: &str) -> ToolOutcome {
    let text = cut(&visible(text), MAX_ERROR_BYTES);
    let server = visible(server);
    let reason = if text.trim().is_empty() {
        format!("the MCP server {server} reports an error without a text")
    } else {
        format!("the MCP server {server} reports an error: {text}")
    };
    ToolOutcome::error("mcp_tool_error", reason)
}

fn input_required(server: &str) -> ToolOutcome {
    let reason = format!(
        "the MCP server {} asks for more before it does this, which is not possible here",
        visible(server)
    );
    ToolOutcome::error("mcp_input_required", reason)
}

fn text_of(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.get("text").and_then(Value::as_str).filter(|_| is_text)
}

/// Names a block that is no text: its type, and its media type or address.
fn name_of(block: &Value) -> String {
    let text = |pointer: &str| block.pointer(pointer).and_then(Value::as_str);
    let kind = text("/type").unwrap_or("unknown");
    let more = text("/mimeType").or_else(|| text("/uri")).or_else(|| text("/resource/uri"));
    let name = more.map_or_else(|| kind.to_owned(), |more| format!("{kind} ({more})"));
    cut(&visible(&name), 128)
}

fn named(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MAX_NAMED_BLOCKS);
    names.truncate(MAX_NAMED_BLOCKS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(result: &Value) -> Value {
        let Some(ToolOutcome::Ok(ok)) = outcome("gh", result) else {
            panic!("it ended otherwise: {:?}", outcome("gh", result));
        };
        ok.data
    }

    #[test]
    fn a_result_is_its_structure_else_its_texts_and_other_blocks_are_named() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let table = [
            (json!({ "content": [text("a")] }), json!("a")),
            (json!({ "content": [text("a"), text("b")] }), json!(["a", "b"])),
            (json!({ "content": [] }), json!([])),
            (json!({ "content": [text("a")], "structuredContent": { "n": 1 } }), json!({ "n": 1 })),
            (json!({ "content": [text("a")], "structuredContent": null }), json!("a")),
            (
                json!({ "content": [image, text("a"), { "type": "hologram\u{202e}" }] }),
                json!({ "result": "a", "left_out": ["image (image/png)", "hologram\\u{202e}"] }),
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "file:///a", "text": "x" } }] }),
                json!({ "result": [], "left_out": ["resource (file:///a)"] }),
            ),
        ];
        for (result, data) in table {
            assert_eq!(ok(&result), data, "{result}");
        }
    }

    #[test]
    fn an_error_is_told_with_its_server_and_cut() {
        let result =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no\u{1b}[2J" }] });
        let reason = r"the MCP server gh reports an error: no\u{1b}[2J";
        assert_eq!(outcome("gh", &result), Some(ToolOutcome::error("mcp_tool_error", reason)));
        let long = json!({ "isError": true, "content": [{ "type": "text", "text": "x".repeat(1 << 20) }] });
        let Some(ToolOutcome::Err(error)) = outcome("gh", &long) else { panic!("an error") };
        assert!(error.reason.len() < 1_200, "{}", error.reason.len());
    }

    #[test]
    fn a_result_of_more_than_a_mebibyte_is_left_out_but_ended_well() {
        let result =
            json!({ "content": [{ "type": "text", "text": "x".repeat(MAX_RESULT_BYTES) }] });
        assert_eq!(ok(&result)["_truncated"], json!(true));
        let result =
            json!({ "content": [{ "type": "text", "text": "x".repeat(MAX_RESULT_BYTES - 2) }] });
        assert!(ok(&result).is_string());
    }

    #[test]
    fn what_is_no_result_of_a_call_is_unclear() {
        for result in [
            json!({}),
            json!({ "tools": [] }),
            json!(1),
            json!({ "resultType": "task", "taskId": "1" }),
        ] {
            assert_eq!(outcome("gh", &result), None, "{result}");
        }
        let asks = json!({ "resultType": "input_required", "inputRequests": {} });
        let Some(outcome) = outcome("gh", &asks) else { panic!("it ended") };
        assert_eq!(outcome.code(), Some("mcp_input_required"));
    }
}
