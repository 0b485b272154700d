//! Which calls the grammars let pass, byte by byte.

use serde_json::json;
use toktrie::ApproximateTokEnv;

use super::super::family::{ENVELOPE, HERMES};
use super::*;

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "A tool", parameters)
}

fn tools() -> Vec<ToolSpec> {
    vec![
        tool("list_habits", json!({"type": "object", "properties": {}})),
        tool(
            "search",
            json!({
                "type": "object",
                "properties": {
                    "category": {"type": "string", "enum": ["sleep", "focus"]},
                    "keyword": {"type": ["string", "null"], "maxLength": 5},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 10},
                },
                "required": ["category"],
            }),
        ),
    ]
}

/// How far a call is let pass; its whole length where it is whole.
fn passed(family: &'static Family, tools: &[ToolSpec], call: &str) -> usize {
    let mut grammars = Grammars::new(ApproximateTokEnv::single_byte_env(), family).unwrap();
    let mut guide = grammars.begin(tools, "").expect("these tools can be followed");
    for (at, byte) in call.bytes().enumerate() {
        let allowed = guide.allowed().is_some_and(|allowed| allowed.is_allowed(u32::from(byte)));
        if !allowed || !guide.take(u32::from(byte)) {
            return at;
        }
    }
    call.len()
}

#[track_caller]
fn passes(tools: &[ToolSpec], call: &str) {
    let len = passed(&HERMES, tools, call);
    assert_eq!(len, call.len(), "stopped behind {:?}", &call[..len]);
}

#[track_caller]
fn stops_behind(tools: &[ToolSpec], begin: &str, rest: &str) {
    assert_eq!(passed(&HERMES, tools, &format!("{begin}{rest}")), begin.len());
}

#[test]
fn registered_names_and_arguments_after_the_schema_pass() {
    let tools = tools();
    passes(&tools, r#"{"name": "list_habits", "arguments": {}}"#);
    passes(
        &tools,
        "\n{\"name\":\"search\",\"arguments\":{\"category\":\"sleep\",\"keyword\":\"잠\",\"limit\":10}}",
    );
    passes(&tools, r#"{"name": "search", "arguments": {"category": "focus", "keyword": null}}"#);
}

#[test]
fn nothing_else_passes() {
    let tools = tools();
    stops_behind(&tools, r#"{"name": ""#, r#"delete", "arguments": {}}"#);
    stops_behind(&tools, r#"{"name": "list_habits", "arguments": {"#, r#""x": 1}}"#);
    stops_behind(&tools, r#"{"name": "search", "arguments": {"#, "}}");
    stops_behind(&tools, r#"{"name": "search", "arguments": {"category": ""#, r#"diet"}}"#);
    stops_behind(
        &tools,
        r#"{"name": "search", "arguments": {"category": "sleep", "keyword": "12345"#,
        r#"6"}}"#,
    );
    stops_behind(
        &tools,
        r#"{"name": "search", "arguments": {"category": "sleep", "limit": 1"#,
        "1}}",
    );
    stops_behind(&tools, r#"{"name": "search", "arguments": {"category": "sleep"}}"#, "\n");
    stops_behind(&tools, "\n\n", "\n");
}

#[test]
fn envelopes_are_followed_to_their_end() {
    let call = r#"{"tool_call": {"name": "list_habits", "arguments": {}}}"#;
    assert_eq!(passed(&ENVELOPE, &tools(), call), call.len());
    assert_eq!(passed(&ENVELOPE, &tools(), r#"{"name""#), 2);
}

#[test]
fn a_call_that_has_begun_goes_on_from_there() {
    let mut grammars = Grammars::new(ApproximateTokEnv::single_byte_env(), &HERMES).unwrap();
    let mut guide = grammars.begin(&tools(), "\n{\"name\": \"s").unwrap();
    let allowed = guide.allowed().unwrap();
    assert!(allowed.is_allowed(u32::from(b'e')) && allowed.num_set() == 1);
    assert!(grammars.begin(&tools(), "[").is_none());
    assert!(grammars.begin(&[], "").is_none());
}

#[test]
fn definitions_inside_a_schema_are_followed() {
    let level = json!({
        "type": "object",
        "properties": {"level": {"$ref": "#/$defs/Level"}},
        "required": ["level"],
        "$defs": {"Level": {"type": "string", "enum": ["L2", "L3"]}},
    });
    let tools = [tool("a", level.clone()), tool("b", level)];
    passes(&tools, r#"{"name": "b", "arguments": {"level": "L3"}}"#);
    stops_behind(&tools, r#"{"name": "a", "arguments": {"level": "L"#, r#"1"}}"#);
}

#[test]
fn a_schema_that_is_not_understood_lets_any_object_pass() {
    let strange = json!({
        "type": "object",
        "properties": {"x": {"not": {"type": "string"}}},
        "required": ["x"],
        "dependentSchemas": {"x": {"properties": {"y": {"$ref": "https://example.org/no"}}}},
    });
    let tools =
        [tool("strange", strange), tool("plain", json!({"type": "object", "properties": {}}))];
    passes(&tools, r#"{"name": "strange", "arguments": {"anything": [1, {"a": null}]}}"#);
    stops_behind(&tools, r#"{"name": "strange", "arguments": "#, "[");
    stops_behind(&tools, r#"{"name": "plain", "arguments": {"#, "\"");
}

#[cfg(feature = "sqlite")]
#[test]
fn the_schemas_of_the_life_toolkit_are_followed_exactly() {
    let tools: Vec<ToolSpec> =
        crate::toolkit::life::tools().iter().map(|tool| tool.spec().clone()).collect();
    let mut grammars = Grammars::new(ApproximateTokEnv::single_byte_env(), &HERMES).unwrap();
    assert!(grammars.begin(&tools, "").is_some());
    assert_eq!(grammars.named, HashSet::new(), "these schemas are not understood");
    passes(&tools, r#"{"name":"search_catalog","arguments":{"category":"sleep","limit":3}}"#);
    passes(&tools, r#"{"name":"list_active_habits","arguments":{}}"#);
    stops_behind(&tools, r#"{"name":"add_habit","arguments":{""#, r#"framed_text":"a"}}"#);
    stops_behind(
        &tools,
        r#"{"name":"log_tracker_entry","arguments":{"habit_id":1,"value":""#,
        r#"maybe"}}"#,
    );
}
