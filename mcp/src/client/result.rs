//! Reads the answer to a call: what the model is given, and which parts are left out and only
//! named.

use std::{borrow::Cow, collections::HashSet};

use madang::tool::ToolOutcome;
use serde_json::{Value, json};

use super::{
    limits::{MAX_ERROR_BYTES, MAX_NAMED_BLOCKS, MAX_RESULT_BYTES},
    repair::repaired,
    text::{cut, visible},
};

/// Reads how a call ended, from the result of the method `tools/call`. Returns `None` if the server
/// began something that continues, or if this is not the result of a call.
pub(super) fn outcome(server: &str, result: &Value) -> Option<ToolOutcome> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => {}
        Some("input_required") => return Some(input_required(server)),
        Some(_) => return None,
    }
    let structured = result.get("structuredContent").filter(|content| !content.is_null());
    let blocks = result.get("content").and_then(blocks_of);
    let is_error = is_error(result);
    if structured.is_none() && blocks.is_none() && is_error.is_none() {
        return None;
    }
    let blocks = blocks.unwrap_or_default();
    let texts: Vec<Value> = blocks.iter().filter_map(text_of).collect();
    if is_error == Some(true) {
        return Some(reported_error(server, &error_text(&texts, structured)));
    }
    let left_out: Vec<String> =
        blocks.iter().filter(|block| text_of(block).is_none()).map(name_of).collect();
    let data = given(structured, texts, left_out);
    let bytes = data.to_string().len();
    Some(ToolOutcome::ok(if bytes <= MAX_RESULT_BYTES {
        data
    } else {
        let hint =
            format!("it ended well, but its result of {bytes} bytes is too large to be shown");
        json!({ "_truncated": true, "_hint": hint })
    }))
}

/// Returns the blocks of a content. Some servers write a text or one block in place of the list.
fn blocks_of(content: &Value) -> Option<Cow<'_, [Value]>> {
    match content {
        Value::Array(blocks) => Some(Cow::Borrowed(blocks)),
        Value::String(text) => Some(Cow::Owned(vec![json!({ "type": "text", "text": text })])),
        Value::Object(_) => Some(Cow::Owned(vec![content.clone()])),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns whether a result says that it is an error. Returns `None` if it does not say. Some
/// servers write the flag as a text.
fn is_error(result: &Value) -> Option<bool> {
    let flag = result.get("isError")?;
    flag.as_bool().or_else(|| flag.as_str()?.trim().to_ascii_lowercase().parse().ok())
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

/// Puts together what the model is given: the structure, the texts that are not part of it, and the
/// names of what is left out.
fn given(structured: Option<&Value>, texts: Vec<Value>, left_out: Vec<String>) -> Value {
    let (result, beside) = match structured {
        Some(content) => {
            let said = Said::of(content);
            let beside: Vec<_> = texts.into_iter().filter(|text| !said.has(text)).collect();
            (content.clone(), beside)
        }
        None => (one_or_all(texts), Vec::new()),
    };
    if beside.is_empty() && left_out.is_empty() {
        return result;
    }
    let mut given = json!({ "result": result });
    if !beside.is_empty() {
        given["text"] = one_or_all(beside);
    }
    if !left_out.is_empty() {
        given["left_out"] = json!(named(left_out));
    }
    given
}

fn one_or_all(mut texts: Vec<Value>) -> Value {
    if texts.len() == 1 { texts.remove(0) } else { Value::Array(texts) }
}

/// What a structure says, as JSON with its keys in order. Many servers repeat it, or a part of it,
/// as a text or as the JSON of one. Each value is looked at a few times at most, however many texts
/// there are.
struct Said(HashSet<String>);

/// How deep the lists and objects are that a text may repeat as JSON. It may repeat the whole, its
/// members, or what is in a list of those.
const MAX_REPEATED_DEPTH: usize = 2;

impl Said {
    fn of(content: &Value) -> Self {
        let mut content = content.clone();
        content.sort_all_objects();
        let mut said = Self(HashSet::new());
        said.take(&content, 0);
        said
    }

    /// Takes a part and what is in it. The depth was bounded when the JSON was read.
    fn take(&mut self, part: &Value, depth: usize) {
        match part {
            Value::Array(parts) => parts.iter().for_each(|part| self.take(part, depth + 1)),
            Value::Object(members) => {
                members.values().for_each(|part| self.take(part, depth + 1));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.insert(part.to_string());
                return;
            }
        }
        if depth <= MAX_REPEATED_DEPTH {
            self.0.insert(part.to_string());
        }
    }

    fn has(&self, text: &Value) -> bool {
        let parsed =
            text.as_str().and_then(|text| serde_json::from_str::<Value>(&repaired(text)).ok());
        let is_repeated = parsed.is_some_and(|mut parsed| {
            parsed.sort_all_objects();
            self.0.contains(&parsed.to_string())
        });
        is_repeated || self.0.contains(&text.to_string())
    }
}

/// Returns the words of an error: its texts, or its structure if it has none.
fn error_text(texts: &[Value], structured: Option<&Value>) -> String {
    if texts.is_empty() {
        return structured.map(Value::to_string).unwrap_or_default();
    }
    let words = texts.iter().map(|text| text.as_str().or_else(|| text["text"].as_str()));
    words.flatten().collect::<Vec<_>>().join("\n")
}

/// Returns a block that is text: words, or a file with its address, as a server of repositories
/// sends it.
fn text_of(block: &Value) -> Option<Value> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").filter(|text| text.is_string()).cloned(),
        Some("resource") => {
            let resource = block.get("resource")?;
            let text = resource.get("text").filter(|text| text.is_string())?;
            Some(json!({ "uri": resource.get("uri"), "text": text }))
        }
        _ => None,
    }
}

/// Names a block that is not text, by its type, and by its address or media type.
fn name_of(block: &Value) -> String {
    let text = |pointer: &str| block.pointer(pointer).and_then(Value::as_str);
    let kind = text("/type").unwrap_or("unknown");
    let more = text("/uri").or_else(|| text("/resource/uri")).or_else(|| text("/mimeType"));
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
    fn a_result_is_its_structure_and_its_texts_and_other_blocks_are_named() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let resource = |content: Value| json!({ "type": "resource", "resource": content });
        let table = [
            (json!({ "content": [text("a")] }), json!("a")),
            (json!({ "content": [text("a"), text("b")] }), json!(["a", "b"])),
            (json!({ "content": [] }), json!([])),
            (
                json!({ "content": [text("a")], "structuredContent": { "n": 1 } }),
                json!({ "result": { "n": 1 }, "text": "a" }),
            ),
            (
                json!({ "content": [text("a"), text("{\"m\": 2, \"n\": 1}"), image, text("b")], "structuredContent": { "n": 1, "m": 2 } }),
                json!({ "result": { "n": 1, "m": 2 }, "text": ["a", "b"], "left_out": ["image (image/png)"] }),
            ),
            // As servers write it that wrap what is no object.
            (
                json!({ "content": [text("a"), text("[2]")], "structuredContent": { "result": ["a", [2]] } }),
                json!({ "result": ["a", [2]] }),
            ),
            (json!({ "content": [text("a")], "structuredContent": null }), json!("a")),
            (
                json!({ "content": [image, text("a"), { "type": "hologram\u{202e}" }] }),
                json!({ "result": "a", "left_out": ["image (image/png)", "hologram\\u{202e}"] }),
            ),
            (
                json!({ "content": [resource(json!({ "uri": "file:///a", "text": "x" }))] }),
                json!({ "uri": "file:///a", "text": "x" }),
            ),
            (
                json!({ "content": [text("downloaded"), resource(json!({ "uri": "repo://a", "mimeType": "text/plain", "text": "x" }))] }),
                json!(["downloaded", { "uri": "repo://a", "text": "x" }]),
            ),
            (
                json!({ "content": [
                    resource(json!({ "uri": "file:///b", "blob": "AAAA" })),
                    { "type": "resource_link", "uri": "file:///c", "mimeType": "text/plain" },
                    { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
                ] }),
                json!({ "result": [], "left_out": ["resource (file:///b)", "resource_link (file:///c)", "audio (audio/wav)"] }),
            ),
        ];
        for (result, data) in table {
            assert_eq!(ok(&result), data, "{result}");
        }
    }

    #[test]
    fn many_texts_beside_a_large_structure_are_read_in_one_go() {
        let many = 50_000;
        let texts: Vec<_> = (0..many)
            .map(|number| json!({ "type": "text", "text": format!("t{number}") }))
            .collect();
        let structure: Vec<_> = (0..many).map(|number| format!("s{number}")).collect();
        let result = json!({ "content": texts, "structuredContent": { "result": structure } });
        let begun = tokio::time::Instant::now();
        ok(&result);
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    }

    #[test]
    fn an_error_is_told_with_its_server_and_cut() {
        let result =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no\u{1b}[2J" }] });
        let reason = r"the MCP server gh reports an error: no\u{1b}[2J";
        assert_eq!(outcome("gh", &result), Some(ToolOutcome::error("mcp_tool_error", reason)));
        for said in [
            json!({ "isError": true, "content": [], "structuredContent": { "why": "no" } }),
            json!({ "isError": true, "content": [{ "type": "resource", "resource": { "text": "{\"why\":\"no\"}" } }] }),
        ] {
            let reason = r#"the MCP server gh reports an error: {"why":"no"}"#;
            assert_eq!(outcome("gh", &said), Some(ToolOutcome::error("mcp_tool_error", reason)));
        }
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
