//! Arguments are checked whatever a model writes: all problems are told, with their pointers and
//! without the values.

use madang_actors::{
    protocol::{Limits, Locale},
    registry::{RegisteredTool, RegistryError, ToolRegistry},
};
use serde_json::{Value, json};

use crate::support::with_schema;

fn compiled(parameters: Value) -> Result<std::sync::Arc<RegisteredTool>, RegistryError> {
    let mut registry = ToolRegistry::new();
    registry.register(with_schema(parameters))?;
    Ok(registry.get("probe").unwrap().clone())
}

/// What the model would be told, or the arguments that the handler would get.
fn checked(parameters: &Value, arguments: Value) -> Result<Value, String> {
    let checked = compiled(parameters.clone()).unwrap().validate(arguments);
    checked.map(|checked| checked.arguments).map_err(|problems| problems.to_string())
}

fn page() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "minLength": 1, "maxLength": 10 },
            "blocks": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": { "content": { "type": "string" }, "indent": { "type": "integer", "minimum": 0 } },
                    "required": ["content"],
                },
            },
            "date": { "type": "string", "format": "date" },
            "kind": { "enum": ["build", "break"] },
            "ratio": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25 },
            "code": { "type": "string", "pattern": "^[a-z]+$" },
            "tags": { "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": ["string", "null"] } },
        },
        "required": ["title"],
    })
}

#[test]
fn what_the_schema_allows_goes_through_unchanged() {
    let arguments = json!({
        "title": "하루 노트",
        "blocks": [{ "content": "a", "indent": 0 }, { "content": "" }],
        "date": "2026-11-21",
        "kind": "break",
        "ratio": 0.5,
        "code": "abc",
        "tags": ["a", null],
    });
    assert_eq!(checked(&page(), arguments.clone()), Ok(arguments));
}

#[test]
fn all_problems_are_told_with_their_pointers() {
    let arguments = json!({
        "blocks": [{ "content": 1 }, { "indent": -1 }],
        "date": "tomorrow",
        "kind": "other",
        "ratio": 7.1,
        "code": "A1",
        "tags": [],
    });
    let problems = compiled(page()).unwrap().validate(arguments).unwrap_err();
    expect_test::expect![[r#"
        /blocks/0/content: must be of type string
        /blocks/1/content: is required
        /blocks/1/indent: must be at least 0
        /date: is not a valid date
        /kind: must be one of "build", "break"
        /ratio: must be less than 1
        /ratio: must be a multiple of 0.25
        /code: must match the pattern ^[a-z]+$
        /tags: needs at least 1 items
        /title: is required
    "#]]
    .assert_eq(&(sorted_as_told(&problems.to_string()) + "\n"));
    assert_eq!(problems.as_slice().len(), 10);
}

/// The validator's order within one object is its own; that of the schema reads better here.
fn sorted_as_told(text: &str) -> String {
    let order = [
        "/blocks/0",
        "/blocks/1/c",
        "/blocks/1/i",
        "/date",
        "/kind",
        "/ratio: must be less",
        "/ratio",
        "/code",
        "/tags",
        "/title",
    ];
    let mut lines: Vec<_> = text.split("; ").collect();
    lines.sort_by_key(|line| order.iter().position(|beginning| line.starts_with(beginning)));
    lines.join("\n")
}

#[test]
fn each_keyword_has_its_words() {
    let table = [
        (json!({ "const": 1 }), json!(2), "must be one of 1"),
        (json!({ "maximum": 3 }), json!(4), "must be at most 3"),
        (json!({ "exclusiveMinimum": 3 }), json!(3), "must be greater than 3"),
        (json!({ "maxLength": 2 }), json!("가나다"), "takes at most 2 characters"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "takes at most 1 items"),
        (
            json!({ "items": [{}], "additionalItems": false }),
            json!([1, 2]),
            "takes at most 1 items",
        ),
        (json!({ "uniqueItems": true }), json!([1, 1]), "has equal items"),
        (
            json!({ "contains": { "type": "string" } }),
            json!([1]),
            "lacks an item of the kind needed",
        ),
        (json!({ "minProperties": 1 }), json!({}), "needs at least 1 keys"),
        (json!({ "maxProperties": 1 }), json!({ "a": 1, "b": 2 }), "takes at most 1 keys"),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "has a key of a wrong name",
        ),
        (json!({ "not": { "type": "integer" } }), json!(1), "is not allowed"),
        (json!(false), json!(1), "is not allowed"),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 2 }] }),
            json!(3),
            "has more than one of the allowed forms",
        ),
        (json!({ "type": ["string", "null"] }), json!(1), "must be of type null, string"),
        (json!({ "contentEncoding": "base64" }), json!("?"), "is not a valid base64"),
        (
            json!({ "contentMediaType": "application/json" }),
            json!("{"),
            "is not a valid application/json",
        ),
    ];
    for (schema, value, words) in table {
        let told = checked(
            &json!({ "type": "object", "properties": { "a": schema } }),
            json!({ "a": value }),
        );
        assert_eq!(told, Err(format!("/a: {words}")));
    }
}

#[test]
fn the_text_of_the_problems_never_contains_the_values() {
    const SECRET: &str = "s3cr3t";
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer" },
            "b": { "enum": ["x"] },
            "c": { "const": 1 },
            "d": { "type": "string", "format": "email" },
            "e": { "type": "string", "maxLength": 2 },
            "f": { "not": { "type": "string" } },
            "g": { "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^x$" }] },
            "h": { "oneOf": [{ "minLength": 1 }, { "minLength": 2 }] },
            "i": { "type": "array", "contains": { "type": "integer" } },
            "j": { "type": "array", "uniqueItems": true },
            "k": { "type": "string", "contentEncoding": "base64" },
            "l": { "type": "string", "contentMediaType": "application/json" },
            "m": { "propertyNames": { "maxLength": 1 } },
            "n": false,
            "o": { "items": [{}], "additionalItems": false },
            "p": { "if": { "type": "string" }, "then": { "minLength": 100 } },
        },
    });
    let tool = compiled(schema.clone()).unwrap();
    let mut told_of = 0;
    for key in schema["properties"].as_object().unwrap().keys() {
        for value in [json!(SECRET), json!([SECRET, SECRET]), json!({ SECRET: SECRET })] {
            let Err(problems) = tool.validate(json!({ key.as_str(): value })) else { continue };
            told_of += 1;
            for locale in [Locale::KO, Locale::EN] {
                let text = problems.in_locale(locale);
                assert!(text.starts_with(&format!("/{key}")), "{text}");
                assert!(!text.contains(SECRET), "{text}");
            }
        }
    }
    assert!(told_of >= 20, "only {told_of} of the values were refused");
}

#[test]
fn a_value_that_fits_none_of_several_forms_is_told_what_is_nearest() {
    let schema = json!({
        "type": "object",
        "properties": {
            "level": { "anyOf": [{ "enum": ["L2", "L3"] }, { "type": "null" }] },
            "kind": { "oneOf": [{ "const": "build" }, { "const": "break" }] },
            "size": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "find": {
                "oneOf": [
                    { "type": "object", "properties": { "by": { "const": "id" }, "id": { "type": "string" } }, "required": ["by", "id"] },
                    { "type": "object", "properties": { "by": { "const": "no" }, "no": { "minimum": 1 } }, "required": ["by", "no"] },
                ],
            },
        },
    });
    let table = [
        (json!({ "level": "L0" }), r#"/level: must be one of "L2", "L3""#),
        (json!({ "kind": "other" }), r#"/kind: must be one of "build", "break""#),
        (json!({ "size": [] }), "/size: must be of type string, integer"),
        (json!({ "find": { "by": "no", "no": 0 } }), "/find/no: must be at least 1"),
        (json!({ "find": { "by": "other" } }), "/find: has none of the allowed forms"),
    ];
    for (arguments, told) in table {
        assert_eq!(checked(&schema, arguments), Err(told.to_owned()));
    }
}

#[test]
fn keys_that_the_schema_does_not_know_are_removed_and_told() {
    let tool = compiled(page()).unwrap();
    let raw = r#"{"title":"a","mood":1,"blocks":[{"content":"b","a/b":[{}]},{"content":"c"}]}"#;
    let checked = tool.check(raw, &Limits::default()).unwrap();
    assert_eq!(
        checked.arguments,
        json!({ "title": "a", "blocks": [{ "content": "b" }, { "content": "c" }] })
    );
    assert_eq!(checked.removed, ["/mood", "/blocks/0/a~1b"]);
}

#[test]
fn unknown_keys_that_the_schema_forbids_are_problems() {
    let mut schema = page();
    schema["additionalProperties"] = json!(false);
    assert_eq!(
        checked(&schema, json!({ "title": "a", "mood": 1, "why": 2 })),
        Err("keys not allowed: mood, why".to_owned())
    );
    let nested = json!({
        "type": "object",
        "properties": { "a": { "type": "object", "properties": { "b": {} }, "additionalProperties": false } },
    });
    assert_eq!(
        checked(&nested, json!({ "a": { "c": 1 }, "d": 1 })),
        Err("/a: keys not allowed: c".to_owned())
    );
}

#[test]
fn keys_stay_wherever_the_schema_speaks_of_them() {
    let both = || json!({ "a": 1, "b": 2 });
    let schemas = [
        json!({ "type": "object" }),
        json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": true }),
        json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": { "type": "integer" } }),
        json!({ "type": "object", "properties": { "a": {} }, "patternProperties": { "^b$": {} } }),
        json!({ "type": "object", "properties": { "a": {} }, "propertyNames": { "maxLength": 1 } }),
        json!({ "type": "object", "properties": { "a": {} }, "anyOf": [{ "properties": { "b": {} } }, { "required": ["c"] }] }),
        json!({ "type": "object", "properties": { "a": {} }, "allOf": [{ "$ref": "#/definitions/b" }],
                "definitions": { "b": { "properties": { "b": {} } } } }),
        json!({ "type": "object", "properties": { "a": {} }, "if": { "required": ["a"] }, "then": { "properties": { "b": {} } } }),
        json!({ "type": "object", "properties": { "a": {} }, "dependencies": { "a": { "properties": { "b": {} } }, "b": ["a"] } }),
        json!({ "type": "object", "properties": { "a": {} }, "oneOf": [{ "type": "object" }, { "type": "string" }] }),
    ];
    for schema in schemas {
        assert_eq!(checked(&schema, both()), Ok(both()), "{schema}");
    }
    let forbidden = json!({ "type": "object", "properties": { "a": {} }, "not": { "properties": { "b": {} }, "required": ["b"] } });
    assert_eq!(checked(&forbidden, both()), Err("is not allowed".to_owned()));
    let known = json!({ "type": "object", "properties": { "a": {} }, "allOf": [{ "required": ["a"] }, { "maxProperties": 1 }] });
    assert_eq!(checked(&known, both()), Ok(json!({ "a": 1 })));
    let none = json!({ "type": "object", "properties": {} });
    assert_eq!(checked(&none, both()), Ok(json!({})));
}

#[test]
fn unknown_keys_are_removed_in_tuples_maps_and_recursive_schemas() {
    let schema = json!({
        "type": "object",
        "properties": {
            "pair": { "items": [{ "properties": { "a": {} } }], "additionalItems": { "properties": { "b": {} } } },
            "map": { "additionalProperties": { "properties": { "a": {} } } },
            "tree": { "$ref": "#/definitions/tree" },
        },
        "definitions": {
            "tree": { "properties": { "name": {}, "children": { "items": { "$ref": "#/definitions/tree" } } } },
        },
    });
    let arguments = json!({
        "pair": [{ "a": 1, "b": 1 }, { "a": 1, "b": 1 }],
        "map": { "x": { "a": 1, "b": 1 } },
        "tree": { "x": 1, "children": [{ "name": "b", "y": 2, "children": [{ "z": 3 }] }] },
    });
    assert_eq!(
        checked(&schema, arguments),
        Ok(json!({
            "pair": [{ "a": 1 }, { "b": 1 }],
            "map": { "x": { "a": 1 } },
            "tree": { "children": [{ "name": "b", "children": [{}] }] },
        }))
    );
}

#[test]
fn formats_are_asserted_and_unknown_ones_are_not() {
    let schema =
        |format: &str| json!({ "type": "object", "properties": { "a": { "format": format } } });
    for (format, good, bad) in [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-11-21T06:00:00Z", "yesterday"),
        ("email", "mina@example.org", "mina"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
    ] {
        assert!(checked(&schema(format), json!({ "a": good })).is_ok(), "{format}");
        assert_eq!(
            checked(&schema(format), json!({ "a": bad })),
            Err(format!("/a: is not a valid {format}"))
        );
    }
    assert!(checked(&schema("uint8"), json!({ "a": "x" })).is_ok());
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    let tool = compiled(page()).unwrap();
    for raw in ["[]", "null", "1", "\"title\""] {
        assert_eq!(
            tool.check(raw, &Limits::default()).unwrap_err().to_string(),
            "must be a JSON object"
        );
    }
    let told = tool.check("{\"title\": ", &Limits::default()).unwrap_err();
    assert_eq!(told.to_string(), "not valid JSON (line 1, column 10)");
    assert_eq!(told.in_locale(Locale::KO), "올바른 JSON이 아닙니다 (1행 10열)");
    let told = tool.check(&"[".repeat(10_000), &Limits::default()).unwrap_err();
    assert_eq!(told.to_string(), "nested deeper than 64 levels");
    let told = tool.check(&" ".repeat(2 << 20), &Limits::default()).unwrap_err();
    assert_eq!(told.to_string(), "longer than 1048576 bytes");
    assert_eq!(tool.check("", &Limits::default()).unwrap_err().to_string(), "/title: is required");
}
