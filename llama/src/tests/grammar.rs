//! Tests which calls the grammars allow, byte by byte.

#[path = "grammar_of_lists.rs"]
mod lists;
#[path = "grammar_of_tags.rs"]
mod tags;

use madang_parser::family::{
    DEEPSEEK_V3_1, ENVELOPE, FUNCTION_GEMMA, GPT_OSS, HERMES, KIMI_K2, MISTRAL_MARKED,
};
use serde_json::json;

use super::*;

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "A tool", parameters)
}

/// Returns the style in which templates of the family write calls.
fn style(family: &Family) -> CallStyle {
    let has_lead = ["hermes", "qwen-coder", "minimax-m2", "deepseek-v3.2"].contains(&family.name);
    let lead = if has_lead { "\n" } else { "" };
    CallStyle { lead: lead.to_owned(), is_compact: false }
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

/// Returns how far a call is allowed; its whole length if it is complete.
fn passed(family: &'static Family, tools: &[ToolSpec], call: &str) -> usize {
    let grammars =
        Grammars::new(ApproximateTokEnv::single_byte_env(), family, style(family)).unwrap();
    let mut guide =
        grammars.compiled_for(tools).expect("these tools can be followed").begin("").unwrap();
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
    let call = format!("\n{call}");
    let len = passed(&HERMES, tools, &call);
    assert_eq!(len, call.len(), "stopped behind {:?}", &call[..len]);
}

#[track_caller]
fn stops_behind(tools: &[ToolSpec], begin: &str, rest: &str) {
    assert_eq!(passed(&HERMES, tools, &format!("\n{begin}{rest}")), begin.len() + 1);
}

#[test]
fn registered_names_and_arguments_after_the_schema_pass() {
    let tools = tools();
    passes(&tools, r#"{"name": "list_habits", "arguments": {}}"#);
    passes(
        &tools,
        "{\"name\": \"search\", \"arguments\": {\"category\": \"sleep\", \"keyword\": \"잠\", \"limit\": 10}}",
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
    stops_behind(&tools, "", "\n");
}

#[test]
fn envelopes_are_followed_to_their_end() {
    let call = r#"{"tool_call": {"name": "list_habits", "arguments": {}}}"#;
    assert_eq!(passed(&ENVELOPE, &tools(), call), call.len());
    assert_eq!(passed(&ENVELOPE, &tools(), r#"{"name""#), 2);
}

#[test]
fn a_block_of_several_calls_is_followed_to_its_closing() {
    let one = r#"<｜tool▁call▁begin｜>list_habits<｜tool▁sep｜>{}<｜tool▁call▁end｜>"#;
    let other =
        r#"<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"category": "sleep"}<｜tool▁call▁end｜>"#;
    for calls in [one.to_owned(), format!("{one}{other}{one}")] {
        let block = format!("{calls}<｜tool▁calls▁end｜>");
        assert_eq!(passed(&DEEPSEEK_V3_1, &tools(), &block), block.len());
        let more = format!("{block}x");
        assert_eq!(passed(&DEEPSEEK_V3_1, &tools(), &more), block.len());
    }
    assert_eq!(passed(&DEEPSEEK_V3_1, &tools(), &format!("{one}x")), one.len());
    let unknown = "<｜tool▁call▁begin｜>delete<｜tool▁sep｜>{}";
    assert_eq!(passed(&DEEPSEEK_V3_1, &tools(), unknown), unknown.find("delete").unwrap());
}

#[test]
fn the_header_of_a_call_names_a_tool_and_its_message_fits() {
    for between in
        ["<|channel|>commentary json<|message|>", " <|constrain|>json<|message|>", "<|message|>"]
    {
        let call = format!("search{between}{{\"category\": \"sleep\"}}");
        assert_eq!(passed(&GPT_OSS, &tools(), &call), call.len());
        let call = format!("search{between}{{}}");
        assert_eq!(passed(&GPT_OSS, &tools(), &call), call.len() - 1);
    }
    assert_eq!(passed(&GPT_OSS, &tools(), "delete<|message|>{}"), 0);
}

#[test]
fn ids_between_the_texts_of_a_family_are_free() {
    let kimi = "<|tool_call_begin|>functions.list_habits:12<|tool_call_argument_begin|>{}<|tool_call_end|>";
    assert_eq!(passed(&KIMI_K2, &tools(), kimi), kimi.len());
    for call in ["list_habits[ARGS]{}", "list_habits[CALL_ID]a1B2c3D4e[ARGS]{}"] {
        assert_eq!(passed(&MISTRAL_MARKED, &tools(), call), call.len());
    }
    assert_eq!(passed(&MISTRAL_MARKED, &tools(), "list_habits[CALL_ID][ARGS]{}"), 20);
}

#[test]
fn a_call_that_has_begun_goes_on_from_there() {
    let grammars =
        Grammars::new(ApproximateTokEnv::single_byte_env(), &HERMES, style(&HERMES)).unwrap();
    let mut guide = grammars.compiled_for(&tools()).unwrap().begin("\n{\"name\": \"s").unwrap();
    let allowed = guide.allowed().unwrap();
    assert!(allowed.is_allowed(u32::from(b'e')) && allowed.num_set() == 1);
    assert!(grammars.compiled_for(&tools()).unwrap().begin("[").is_none());
    assert!(grammars.compiled_for(&[]).is_none());
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
    let gaps = unconstrained(&HERMES, style(&HERMES), &[tool("strange", strange.clone())]);
    let expected = Unconstrained {
        tool: "strange".into(),
        pointer: String::new(),
        keyword: "dependentSchemas".into(),
    };
    assert_eq!(gaps, [expected]);
    let tools =
        [tool("strange", strange), tool("plain", json!({"type": "object", "properties": {}}))];
    passes(&tools, r#"{"name": "strange", "arguments": {"anything": [1, {"a": null}]}}"#);
    stops_behind(&tools, r#"{"name": "strange", "arguments": "#, "[");
    stops_behind(&tools, r#"{"name": "plain", "arguments": {"#, "\"");
}

#[test]
fn the_schemas_of_the_life_toolkit_are_followed_exactly() {
    let tools: Vec<ToolSpec> =
        madang_toolkits::life::tools().iter().map(|tool| tool.spec().clone()).collect();
    let grammars =
        Grammars::new(ApproximateTokEnv::single_byte_env(), &HERMES, style(&HERMES)).unwrap();
    assert!(grammars.compiled_for(&tools).unwrap().begin("").is_some());
    assert_eq!(unconstrained(&HERMES, style(&HERMES), &tools), []);
    passes(&tools, r#"{"name": "search_catalog", "arguments": {"category": "sleep", "limit": 3}}"#);
    passes(&tools, r#"{"name": "list_active_habits", "arguments": {}}"#);
    stops_behind(&tools, r#"{"name": "add_habit", "arguments": {""#, r#"framed_text":"a"}}"#);
    stops_behind(
        &tools,
        r#"{"name": "log_tracker_entry", "arguments": {"habit_id": 1, "value": ""#,
        r#"maybe"}}"#,
    );
}

#[test]
fn days_that_there_are_pass_and_others_do_not() {
    let day = [tool(
        "day",
        json!({"type": "object", "properties": {"d": {"type": "string", "format": "date"}}, "required": ["d"]}),
    )];
    let mut registry = madang_actors::registry::ToolRegistry::new();
    let double = madang_testing::FakeTool::read("day").parameters((*day[0].parameters).clone());
    registry.register(double).unwrap();
    let years = [1, 4, 100, 400, 1600, 1900, 1999, 2000, 2023, 2024, 2100, 2400, 9996, 9999];
    let days = [
        (1, 31),
        (1, 32),
        (2, 28),
        (2, 29),
        (2, 30),
        (4, 30),
        (4, 31),
        (12, 31),
        (13, 1),
        (0, 1),
        (1, 0),
    ];
    for (year, (month, day_of_month)) in years.iter().flat_map(|year| days.map(|day| (year, day))) {
        let date = format!("{year:04}-{month:02}-{day_of_month:02}");
        let is_valid = registry.get("day").unwrap().validate(json!({"d": date})).is_ok();
        let call = format!("\n{{\"name\": \"day\", \"arguments\": {{\"d\": \"{date}\"}}}}");
        assert_eq!(passed(&HERMES, &day, &call) == call.len(), is_valid, "{date}");
    }
}

#[test]
fn what_cannot_be_followed_is_named() {
    let gap = |schema: Value| {
        let parameters = json!({"type": "object", "properties": {"x": schema}});
        let gaps = unconstrained(&HERMES, style(&HERMES), &[tool("t", parameters)]);
        let gaps: Vec<String> =
            gaps.into_iter().map(|gap| format!("{} {}", gap.pointer, gap.keyword)).collect();
        gaps.join(", ")
    };
    assert_eq!(gap(json!({"type": "string", "pattern": "^a"})), "/properties/x pattern");
    assert_eq!(gap(json!({"type": "string", "format": "email"})), "/properties/x format");
    assert_eq!(gap(json!({"type": "number", "multipleOf": 2})), "/properties/x multipleOf");
    assert_eq!(gap(json!({"type": "array", "uniqueItems": true})), "/properties/x uniqueItems");
    assert_eq!(gap(json!({"type": "array", "items": [{}]})), "/properties/x items");
    assert_eq!(gap(json!({"type": "array", "items": {"not": {}}})), "/properties/x/items not");
    assert_eq!(gap(json!({"type": "string", "maxLength": 1_000_000})), "/properties/x maxLength");
    assert_eq!(gap(json!({"minimum": 3})), "/properties/x type");
    assert_eq!(gap(json!({"$ref": "#"})), "/properties/x $ref");
    assert_eq!(
        gap(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true})),
        "/properties/x additionalProperties"
    );
    assert_eq!(gap(json!({"type": "object", "required": ["a"]})), "/properties/x required");
    let free = json!({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": true});
    assert_eq!(gap(free), "/properties/x required");
    assert_eq!(gap(json!({"$ref": "#/$defs/a", "maxLength": 3})), "/properties/x $ref");
    let overlapping = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    assert_eq!(gap(overlapping), "/properties/x oneOf");
    assert_eq!(gap(json!({"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]})), "");
    assert_eq!(gap(json!({"allOf": [{"type": "boolean"}]})), "");
}

#[test]
fn strings_that_braces_cannot_hold_are_named() {
    let parameters = json!({"type": "object", "properties": {
        "x": {"enum": ["a<escape>b"]},
        "a:b": {"type": "string"},
    }});
    let gaps = unconstrained(&FUNCTION_GEMMA, style(&HERMES), &[tool("t", parameters)]);
    assert!(gaps.iter().any(|gap| gap.keyword == "properties"), "{gaps:?}");
    let parameters = json!({"type": "object", "properties": {"x": {"enum": ["a<escape>b"]}}});
    let gaps = unconstrained(&FUNCTION_GEMMA, style(&HERMES), &[tool("t", parameters)]);
    assert_eq!((&*gaps[0].pointer, &*gaps[0].keyword), ("/properties/x", "enum"));
}

#[test]
fn whole_numbers_of_64_bits_keep_every_digit() {
    let tools = |kind: Value| [tool("pin", json!({"type": "object", "properties": {"id": kind}}))];
    let call = |number: &str| format!("{{\"name\": \"pin\", \"arguments\": {{\"id\": {number}}}}}");
    let whole = ["0", "1234567890123456789", "9007199254740993", "-9223372036854775808"];
    for kind in ["integer", "number"] {
        for number in whole.iter().chain(&["18446744073709551615", "1000000000000000000"]) {
            passes(&tools(json!({"type": kind})), &call(number));
        }
    }
    for free in [json!({}), json!(true)] {
        passes(&tools(free), &call("1234567890123456789"));
    }
    let begin = "{\"name\": \"pin\", \"arguments\": {\"id\": ";
    let bits = tools(json!({"type": "integer"}));
    stops_behind(&bits, &format!("{begin}1844674407370955161"), "6}}");
    stops_behind(&bits, &format!("{begin}-922337203685477580"), "9}}");
    let bounded = tools(
        json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64, "maximum": i64::MAX}),
    );
    passes(&bounded, &call("9007199254740993"));
    passes(&bounded, &call("9223372036854775807"));
    // One digit more would make a number within the bounds.
    stops_behind(&bounded, &format!("{begin}9007199254740992"), "}}");
    stops_behind(&bounded, &format!("{begin}922337203685477580"), "8}}");
}

#[test]
fn numbers_without_a_bound_reach_as_far_as_doubles_do() {
    let tools = |kind: Value| [tool("t", json!({"type": "object", "properties": {"x": kind}}))];
    let call = |number: &str| format!("{{\"name\": \"t\", \"arguments\": {{\"x\": {number}}}}}");
    for number in ["1e300", "1.5e+18", "-2.25e307", "0.0000001", "12.5"] {
        passes(&tools(json!({"type": "number"})), &call(number));
    }
    for number in ["3e-300", "0.1", "0.00001", "1e200", "18446744073709551615"] {
        passes(&tools(json!({"type": "number", "exclusiveMinimum": 0})), &call(number));
    }
    let begin = "{\"name\": \"t\", \"arguments\": {\"x\": ";
    stops_behind(&tools(json!({"type": "number", "minimum": 0})), begin, "-1}}");
    stops_behind(&tools(json!({"type": "number"})), &format!("{begin}1e30"), "8}}");
    let parameters =
        json!({"type": "object", "properties": {"x": {"type": "number", "maximum": 1e19}}});
    let gaps = unconstrained(&HERMES, style(&HERMES), &[tool("t", parameters)]);
    assert_eq!((&*gaps[0].pointer, &*gaps[0].keyword), ("/properties/x", "maximum"));
}
