//! No schema and no arguments make the checks overflow the stack, take for ever, or reach outside.

use std::time::Duration;

use madang_actors::{
    protocol::Limits,
    registry::{RegisteredTool, RegistryError, ToolRegistry},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::with_schema;

fn compiled(parameters: Value) -> Result<std::sync::Arc<RegisteredTool>, RegistryError> {
    let mut registry = ToolRegistry::new();
    registry.register(with_schema(parameters))?;
    Ok(registry.get("probe").unwrap().clone())
}

fn refused(parameters: Value) -> String {
    compiled(parameters).unwrap_err().to_string()
}

#[test]
fn a_megabyte_of_wrong_items_is_refused_at_once_and_in_few_words() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "items": { "type": "string" } } } });
    let raw = format!("{{\"a\":[{}1]}}", "1,".repeat(500_000));
    let begun = Instant::now();
    let told = compiled(schema).unwrap().check(&raw, &Limits::default()).unwrap_err();
    assert!(told.to_string().starts_with("/a/0: must be of type string"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
}

/// Each pointer to a value below a long key has that key in it: told one by one, they would take
/// gigabytes.
#[test]
fn what_is_told_of_values_below_a_long_key_is_not_a_multiple_of_the_arguments() {
    let lists = json!({ "type": "object", "additionalProperties": { "type": "object",
        "properties": { "a": { "items": { "type": "string" } } } } });
    let tool = compiled(lists).unwrap();
    let limits = Limits::default();
    let key = "k".repeat(20_000);
    let wrong = format!("{{\"{key}\":{{\"a\":[{}1]}}}}", "1,".repeat(4_000));
    let told = tool.check(&wrong, &limits).unwrap_err();
    let bytes: usize = told.as_slice().iter().map(|problem| problem.pointer.len()).sum();
    assert!(bytes < 2 * wrong.len(), "{bytes} bytes of {}", wrong.len());

    for value in ["1", "null"] {
        let fields: Vec<_> = (0..4_000).map(|n| format!("\"u{n}\":{value}")).collect();
        let unknown = format!("{{\"{key}\":{{{}}}}}", fields.join(","));
        let checked = tool.check(&unknown, &limits).unwrap();
        assert_eq!(checked.arguments, json!({ key.as_str(): {} }));
        let bytes: usize = checked.removed.iter().map(String::len).sum();
        assert!(bytes < 2 * unknown.len(), "{bytes} bytes of {}", unknown.len());
    }
}

#[test]
fn a_remote_reference_is_refused_and_never_fetched() {
    for target in [
        "http://127.0.0.1:9/schema.json",
        "https://example.com/schema.json",
        "file:///etc/hostname",
        "other.json",
        "other.json#/a",
        "#anchor",
        "#/definitions/missing",
    ] {
        let told = refused(json!({ "type": "object", "properties": { "a": { "$ref": target } } }));
        assert!(told.contains(target), "{told}");
    }
    // What no part of the schema leads to is not fetched either.
    let aside = json!({ "type": "object", "definitions": { "a": { "$ref": "http://127.0.0.1:9/schema.json" } } });
    let told = refused(aside);
    assert!(told.contains("127.0.0.1:9"), "{told}");
    let moved = json!({ "type": "object", "properties": { "a": { "$id": "http://example.com/a", "$ref2": 1 } } });
    assert!(refused(moved).contains("$id"));
    let elsewhere = json!({ "type": "object", "$schema": "http://127.0.0.1:9/meta" });
    assert!(compiled(elsewhere).is_ok(), "the draft is ours to choose, so nothing is looked up");
}

#[test]
fn a_pattern_that_makes_other_engines_backtrack_is_matched_in_linear_time() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a+)+$" } } });
    let tool = compiled(schema).unwrap();
    let arguments = json!({ "a": "a".repeat(20_000) + "!" });
    let begun = Instant::now();
    assert_eq!(
        tool.validate(arguments).unwrap_err().to_string(),
        "/a: must match the pattern ^(a+)+$"
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
    let told = refused(json!({ "type": "object", "properties": { "a": { "pattern": "(?=a)b" } } }));
    assert!(told.contains("/properties/a/pattern"), "look-around needs backtracking: {told}");
}

/// Threads of the runtime have 2 MiB of stack.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_schema_that_is_too_deep_is_refused_and_overflows_nothing() {
    on_a_small_stack(|| {
        let deep = |levels: usize| {
            (0..levels).fold(
                json!({ "type": "object" }),
                |inner, _| json!({ "type": "object", "not": inner }),
            )
        };
        assert!(refused(deep(100)).contains("deeper than 64 levels"));
        // A chain of definitions is as deep as it is long.
        let chain = |count: usize| {
            let mut definitions = serde_json::Map::new();
            for n in 0..count {
                let next = json!({ "properties": { "a": { "$ref": format!("#/definitions/d{}", n + 1) } } });
                definitions.insert(format!("d{n}"), next);
            }
            definitions.insert(format!("d{count}"), json!({}));
            json!({ "type": "object", "properties": { "a": { "$ref": "#/definitions/d0" } }, "definitions": definitions })
        };
        assert!(refused(chain(2_000)).contains("deeper than 64 levels"));
        compiled(chain(25)).unwrap();
        // Deep only from here: its end was met before, not so far down.
        let mut longer = chain(25);
        let below = json!({ "$ref": "#/definitions/d0" });
        longer["properties"]["z"] = (0..20).fold(below, |inner, _| json!({ "not": inner }));
        assert!(refused(longer).contains("deeper than 64 levels"));
    });
}

#[test]
fn a_schema_that_holds_too_much_for_one_value_is_refused() {
    let doubled = |levels: usize| {
        let mut definitions = serde_json::Map::new();
        for n in 0..levels {
            let next = json!({ "$ref": format!("#/definitions/d{}", n + 1) });
            definitions.insert(format!("d{n}"), json!({ "anyOf": [next, next] }));
        }
        definitions.insert(format!("d{levels}"), json!({ "type": "integer" }));
        json!({ "type": "object", "properties": { "a": { "$ref": "#/definitions/d0" } }, "definitions": definitions })
    };
    assert!(refused(doubled(24)).contains("alternatives"), "{}", refused(doubled(24)));
    compiled(doubled(6)).unwrap();
    let wide = |width: usize| {
        let mut definitions = serde_json::Map::new();
        for n in 0..5 {
            let next = json!({ "$ref": format!("#/definitions/d{}", n + 1) });
            definitions.insert(format!("d{n}"), json!({ "anyOf": vec![next; width] }));
        }
        definitions.insert("d5".to_owned(), json!({ "type": "integer" }));
        json!({ "type": "object", "properties": { "a": { "$ref": "#/definitions/d0" } }, "definitions": definitions })
    };
    assert!(refused(wide(8)).contains("more than 16384 parts of it hold for one value"));
    compiled(wide(3)).unwrap();
    let wide = json!({ "type": "object", "properties": (0..5_000).map(|n| (format!("a{n}"), json!({}))).collect::<serde_json::Map<_, _>>() });
    assert!(refused(wide).contains("more than 4096 parts"));
    for circle in
        [json!({ "$ref": "#" }), json!({ "anyOf": [{ "$ref": "#" }, { "type": "object" }] })]
    {
        let mut circle = circle;
        circle["type"] = json!("object");
        assert!(refused(circle).contains("refers to itself"));
    }
}

#[test]
fn arguments_that_would_take_for_ever_to_check_are_refused_at_once() {
    // Each level of the value is checked twice for each check of the level above: 2 to the power of
    // 60 checks.
    let schema = json!({
        "type": "object",
        "oneOf": [
            { "properties": { "kind": { "const": "and" }, "left": { "$ref": "#" } } },
            { "properties": { "kind": { "const": "or" }, "left": { "$ref": "#" } } },
        ],
    });
    let tool = compiled(schema).unwrap();
    let nested = |levels: usize| {
        (0..levels)
            .fold(json!({ "kind": "and" }), |inner, _| json!({ "kind": "and", "left": inner }))
    };
    let begun = Instant::now();
    assert_eq!(tool.validate(nested(60)).unwrap_err().to_string(), "too complex to be checked");
    assert!(tool.validate(nested(8)).is_ok());
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
}

#[test]
fn the_deepest_arguments_under_the_deepest_references_fit_a_small_stack() {
    on_a_small_stack(|| {
        // As many references in place as are allowed, at each of as many levels as are allowed.
        let chained = |count: usize| {
            let mut definitions = serde_json::Map::new();
            for n in 0..count {
                let next = json!({ "allOf": [{ "$ref": format!("#/definitions/d{}", n + 1) }] });
                definitions.insert(format!("d{n}"), next);
            }
            let a = json!({ "a": { "$ref": "#/definitions/d0" } });
            definitions.insert(format!("d{count}"), json!({ "type": "object", "properties": a }));
            json!({ "type": "object", "properties": a, "definitions": definitions })
        };
        assert!(refused(chained(8)).contains("more than 16 alternatives or references"));
        let tool = compiled(chained(7)).unwrap();
        let nested = |inner: Value| (0..63).fold(inner, |inner, _| json!({ "a": inner }));
        assert!(tool.validate(nested(json!({}))).is_ok());
        let told = tool.validate(nested(json!({ "a": 1 }))).unwrap_err().to_string();
        assert_eq!(told, format!("{}...: must be of type object", "/a".repeat(60)));
    });
}
