//! Tests that a tool's exported schema and its handler's type accept the same arguments.

use std::sync::Arc;

use madang::tool::{self, Breach, Tool, ToolContext, ToolRegistry, ToolResult};
use madang_toolkits::{life, notes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One argument of each kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only reading it is looked at")]
struct Every {
    tiny: i8,
    byte: u8,
    small: Option<i16>,
    #[serde(default)]
    word: u16,
    #[serde(default)]
    int: Option<u32>,
    long: i64,
    huge: u64,
    size: usize,
    share: f64,
    text: String,
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 4))]
    note: Option<String>,
    is_on: bool,
    kind: Kind,
    #[serde(default)]
    other: Option<Kind>,
    list: Vec<u32>,
    inner: Inner,
    #[serde(default)]
    more: Vec<Inner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Build,
    Break,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only reading it is looked at")]
struct Inner {
    content: String,
    #[serde(default)]
    indent: u32,
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1))]
    number: Option<i64>,
}

async fn nothing(_: Every, _: &ToolContext) -> ToolResult<()> {
    Ok(())
}

fn tools() -> Vec<Arc<dyn Tool>> {
    let every: Arc<dyn Tool> = Arc::new(tool::plain("every", "Takes every kind.", nothing));
    life::tools().into_iter().chain(notes::tools()).chain([every]).collect()
}

/// Values at the edges of types and schemas.
fn values() -> Vec<Value> {
    let mut values = vec![
        Value::Null,
        json!(true),
        json!(""),
        json!("x"),
        json!("가나다라마"),
        json!("build"),
        json!("done"),
        json!("L2"),
        json!("sleep"),
        json!("2026-03-10"),
        json!("0192f0c1-2b5e-7c52-9f9a-6a1c8e1f0d3b"),
        json!([]),
        json!([1]),
        json!([{ "content": "a" }]),
        json!([{ "content": "a", "indent": 1.0, "number": null }]),
        json!([null]),
        json!({}),
        json!({ "content": "a", "indent": 4_294_967_296_u64 }),
        json!({ "content": "a", "number": 1.0 }),
        json!(1.0),
        json!(1.5),
        json!(-0.0),
        json!(1e300),
        json!(1e19),
        json!(9_007_199_254_740_993_i64),
    ];
    for bits in [7, 8, 15, 16, 31, 32, 63] {
        let power = 1_i128 << bits;
        for number in [power - 1, power, -power, -power - 1] {
            let number = i64::try_from(number).map(Value::from);
            values.extend(number);
        }
    }
    values.extend([json!(u64::MAX), json!(0), json!(1), json!(10), json!(200)]);
    values
}

/// Generates arguments that fit a schema by its own keywords.
fn fitting(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(form) = schema["anyOf"].get(0) {
        return fitting(form);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten();
            let fields = required.filter_map(Value::as_str);
            let field = |key: &str| (key.to_owned(), fitting(&schema["properties"][key]));
            Value::Object(fields.map(field).collect())
        }
        Some("array") => json!([]),
        Some("integer") => schema["minimum"].as_i64().map_or(json!(1), |least| json!(least.max(1))),
        Some("number") => json!(0.5),
        Some("boolean") => json!(false),
        _ => json!("x"),
    }
}

#[test]
fn no_schema_says_null_as_a_default_or_the_name_of_a_type_of_rust() {
    for tool in tools() {
        let text = tool.spec().parameters.to_string();
        assert!(!text.contains("\"default\":null"), "{}: {text}", tool.spec().name);
        for name in ["uint", "int32", "int64", "int8", "int16", "float", "double", "Option"] {
            assert!(!text.contains(name), "{}: {name} in {text}", tool.spec().name);
        }
    }
}

#[test]
fn what_a_schema_accepts_its_handlers_type_accepts() {
    let mut registry = ToolRegistry::new();
    registry.register_all(tools()).unwrap();
    let mut accepted = 0;
    let mut refused = 0;
    for tool in &registry {
        let name = &tool.spec().name;
        let schema = &tool.spec().parameters;
        let base = fitting(schema);
        assert!(tool.validate(base.clone()).is_ok(), "{name}: {base}");
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        for key in &keys {
            for value in values() {
                let mut arguments = base.clone();
                arguments[key] = value.clone();
                match tool.validate(arguments.clone()) {
                    Ok(checked) => {
                        accepted += 1;
                        assert!(
                            tool.tool().accepts(&checked.arguments).is_ok(),
                            "{name}: {arguments}"
                        );
                    }
                    Err(problems) => {
                        refused += 1;
                        for problem in problems.as_slice() {
                            let is_misfit = matches!(problem.breach, Breach::Misfit { .. });
                            assert!(!is_misfit, "{name}: {arguments}: {problems}");
                        }
                    }
                }
            }
        }
    }
    assert!(accepted > 200 && refused > 1_000, "{accepted} {refused}");
}

/// Generates arguments that fit the type alone, without the lengths and bounds of the schema.
#[test]
fn what_a_handlers_type_accepts_its_schema_accepts_but_for_lengths_and_bounds() {
    fn loosened(schema: &Value) -> Value {
        const OWN: [&str; 7] =
            ["minLength", "maxLength", "maxItems", "minItems", "format", "pattern", "default"];
        match schema {
            Value::Object(keywords) => {
                let kept = keywords.iter().filter(|(key, _)| !OWN.contains(&key.as_str()));
                let fields: Map<_, _> =
                    kept.map(|(key, value)| (key.clone(), loosened(value))).collect();
                Value::Object(fields)
            }
            Value::Array(parts) => parts.iter().map(loosened).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
        }
    }
    #[derive(Debug)]
    struct Loose {
        spec: madang::tool::ToolSpec,
        tool: Arc<dyn Tool>,
    }
    impl Tool for Loose {
        fn spec(&self) -> &madang::tool::ToolSpec {
            &self.spec
        }
        fn call<'a>(
            &'a self,
            arguments: Value,
            prepared: madang::tool::Prepared,
            ctx: &'a ToolContext,
            access: madang::tool::Access<'a>,
        ) -> madang::tool::BoxFuture<'a, ToolResult<madang::tool::ToolOutcome>> {
            self.tool.call(arguments, prepared, ctx, access)
        }
    }
    let mut compared = 0;
    for tool in tools() {
        let spec = tool.spec();
        let loose = madang::tool::ToolSpec::new(
            spec.name.clone(),
            spec.description.clone(),
            loosened(&spec.parameters),
        );
        let mut registry = ToolRegistry::new();
        registry.register(Loose { spec: loose, tool: tool.clone() }).unwrap();
        let base = fitting(&spec.parameters);
        let properties = spec.parameters["properties"].as_object().unwrap();
        for (key, property) in properties {
            // A bound that the tool sets is narrower than its type's.
            let own_bounds = property.get("minimum").is_some_and(|least| *least == json!(1))
                || property
                    .get("maximum")
                    .is_some_and(|most| most.as_u64().is_some_and(|most| most < 255));
            for value in values() {
                let mut arguments = base.clone();
                arguments[key] = value;
                if own_bounds || tool.accepts(&arguments).is_err() {
                    continue;
                }
                compared += 1;
                let checked = registry.get(&spec.name).unwrap().validate(arguments.clone());
                assert!(checked.is_ok(), "{}: {arguments}: {checked:?}", spec.name);
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn null_for_an_optional_argument_is_as_if_it_were_absent_and_noted() {
    let mut registry = ToolRegistry::new();
    registry.register_all(tools()).unwrap();
    let mut count = 0;
    for tool in &registry {
        let schema = &tool.spec().parameters;
        let base = fitting(schema);
        for key in schema["properties"].as_object().unwrap().keys() {
            let is_required =
                schema["required"].as_array().is_some_and(|all| all.contains(&json!(key)));
            let mut arguments = base.clone();
            arguments[key] = Value::Null;
            let checked = tool.validate(arguments);
            assert_eq!(checked.is_ok(), !is_required, "{}: {key}", tool.spec().name);
            let Ok(checked) = checked else { continue };
            count += 1;
            if checked.arguments.get(key).is_none() {
                assert_eq!(checked.nulls, [format!("/{key}")]);
                assert_eq!(checked.arguments, base);
            }
        }
    }
    assert!(count > 18, "{count}");
}

#[test]
fn a_whole_number_may_be_written_as_a_fraction_and_one_beyond_the_type_is_named() {
    let mut registry = ToolRegistry::new();
    registry.register_all(tools()).unwrap();
    let tool = registry.get("get_streak").unwrap();
    let checked = tool.validate(json!({ "habit_id": 1.0 })).unwrap();
    assert_eq!(checked.arguments, json!({ "habit_id": 1 }));
    assert!(checked.arguments["habit_id"].is_i64());
    let blocks = registry.get("get_page_blocks").unwrap();
    let refused = blocks.validate(json!({ "pageId": "x", "offset": 4_294_967_296_u64 }));
    assert_eq!(refused.unwrap_err().to_string(), "/offset: must be at most 4294967295");
}
