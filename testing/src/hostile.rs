//! Makes JSON of every depth and size that a hostile model, tool or client may send.

use serde_json::{Map, Value, json};

use madang_actors::protocol::MAX_LEVELS;
pub use madang_actors::protocol::{dismantle, is_deeper};

/// Depths around each bound: those of arguments, of stored values, of serde_json, of SQLite, and of
/// a stack.
pub const LEVELS: [usize; 14] = [
    1,
    2,
    64,
    65,
    MAX_LEVELS - 1,
    MAX_LEVELS,
    MAX_LEVELS + 1,
    126,
    127,
    128,
    1_000,
    1_001,
    1_100,
    50_000,
];

/// Makes this many lists inside each other.
#[must_use]
pub fn lists(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| Value::Array(vec![inner]))
}

/// Makes this many objects inside each other.
#[must_use]
pub fn objects(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| Value::Object(Map::from_iter([("a".to_owned(), inner)])))
}

/// Calls `give` with one named value after another. The deepest values overflow a usual stack when
/// they are dropped. Take those apart with [`dismantle`].
pub fn for_each_value(mut give: impl FnMut(String, Value)) {
    for levels in LEVELS {
        give(format!("{levels} lists"), lists(levels));
        give(format!("{levels} objects"), objects(levels));
    }
    for bytes in [0, 2_047, 2_048, 2_049, 1 << 20, (4 << 20) + 1, (16 << 20) + 1] {
        give(format!("a text of {bytes} bytes"), Value::String("x".repeat(bytes)));
    }
    for count in [1_000, 100_000] {
        give(format!("{count} items"), json!(vec![0; count]));
        let keys = (0..count).map(|n| (format!("k{n}"), Value::Null));
        give(format!("{count} keys"), Value::Object(keys.collect()));
    }
    let controls: String = (0..0x20)
        .chain([0x7f, 0x85, 0x202e, 0x2028, 0xfdd0, 0x10_ffff])
        .filter_map(char::from_u32)
        .collect();
    give("every control character".into(), json!(controls));
    give("control characters as a key".into(), json!({ controls: 1 }));
    for key in ["", "$ref", "__proto__", "a/b~c", "/", "~0"] {
        give(format!("the key {key:?}"), json!({ key: { key: [] } }));
    }
    give("a long key".into(), json!({ "k".repeat(1 << 16): 1 }));
    let numbers = [
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1.0),
        json!(-0.0),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(9_007_199_254_740_993_i64),
        json!(4_294_967_296_u64),
        json!(-1),
    ];
    for number in numbers {
        give(format!("the number {number}"), number);
    }
    for value in [Value::Null, json!(true), json!("null"), json!([null]), json!({ "status": "ok" })]
    {
        give(format!("the value {value}"), value);
    }
}

/// Lists named texts that a model may write as arguments: JSON of every depth, JSON that is cut
/// off, and other text.
#[must_use]
pub fn argument_texts() -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = LEVELS
        .iter()
        .flat_map(|&levels| {
            [
                (format!("{levels} lists"), "[".repeat(levels) + &"]".repeat(levels)),
                (
                    format!("{levels} objects"),
                    r#"{"a":"#.repeat(levels) + "1" + &"}".repeat(levels),
                ),
                (format!("{levels} levels that never end"), r#"{"a":["#.repeat(levels)),
            ]
        })
        .collect();
    let whole = [
        "",
        " ",
        "null",
        "{}",
        "[]",
        "\"",
        "{",
        "{\"a\"",
        "{\"a\":1e999}",
        "{\"a\":1E+2}",
        "{\"a\":-}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":NaN}",
        "{'a':1}",
        "\u{feff}{}",
        "{}{}",
        "{\"a\":01}",
        "{\"\":\"\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":1}\0",
    ];
    texts.extend(whole.map(|text| (format!("{text:?}"), text.to_owned())));
    for bytes in [(1 << 20) - 8, 1 << 20, (1 << 20) + 1, 17 << 20] {
        texts.push((format!("{bytes} bytes"), format!("{{\"a\":\"{}\"}}", "x".repeat(bytes))));
    }
    texts
}

/// Lists named schemas from hostile sources. Few of them are usable, and each can be dropped.
#[must_use]
pub fn schemas() -> Vec<(String, Value)> {
    let mut schemas = Vec::new();
    // They are made by hand, because the macro copies deep values by recursion.
    let with = |kind: &str, key: &str, inner: Value| {
        let fields = [("type".to_owned(), kind.into()), (key.to_owned(), inner)];
        Value::Object(fields.into_iter().collect())
    };
    let field = |inner: Value| Value::Object(Map::from_iter([("a".to_owned(), inner)]));
    let object = |properties: Value| with("object", "properties", properties);
    for levels in [30, 31, 32, 63, 64, 65, 128, 1_000] {
        let text = json!({ "type": "string" });
        let deep = (0..levels).fold(text, |inner, _| object(field(inner)));
        schemas.push((format!("{levels} objects"), deep));
        let items = (0..levels).fold(json!({}), |inner, _| with("array", "items", inner));
        schemas.push((format!("{levels} lists"), object(field(items))));
        for keyword in ["default", "const", "examples"] {
            let valued = with("array", keyword, lists(levels));
            schemas.push((format!("{keyword} of {levels} levels"), object(field(valued))));
        }
    }
    for levels in [2_usize, 8, 15, 24, 60] {
        let step = |n: usize| json!({ "$ref": format!("#/definitions/d{n}") });
        let doubled = (1..=levels)
            .map(|n| (format!("d{n}"), json!({ "anyOf": [step(n - 1), step(n - 1)] })))
            .chain([("d0".to_owned(), json!({ "type": "integer" }))]);
        let definitions: Map<String, Value> = doubled.collect();
        let schema = json!({
            "type": "object", "properties": { "a": step(levels) }, "definitions": definitions
        });
        schemas.push((format!("{levels} doubled alternatives"), schema));
    }
    for count in [1_000, 5_000] {
        let keys: Map<String, Value> =
            (0..count).map(|n| (format!("k{n}"), json!({ "type": "integer" }))).collect();
        schemas.push((format!("{count} properties"), object(Value::Object(keys))));
        let words: Vec<_> = (0..count).map(|n| format!("w{n}")).collect();
        schemas.push((format!("{count} words"), object(json!({ "a": { "enum": words } }))));
    }
    let parts = [
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/properties/a" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "$ref": 7 }),
        json!({ "$id": "http://elsewhere", "type": "string" }),
        json!({ "pattern": "(a+)+$" }),
        json!({ "pattern": "(" }),
        json!({ "pattern": "a{1000}{1000}" }),
        json!({ "format": "regex" }),
        json!({ "format": 7 }),
        json!({ "minLength": -1 }),
        json!({ "maxLength": u64::MAX }),
        json!({ "minimum": "1" }),
        json!({ "minimum": 1e308, "maximum": -1e308 }),
        json!({ "multipleOf": 0 }),
        json!({ "type": "Integer" }),
        json!({ "type": [] }),
        json!({ "type": ["string", "null"], "default": null }),
        json!({ "enum": [] }),
        json!({ "items": 7 }),
        json!({ "required": "a" }),
        json!(true),
        json!(false),
        Value::Null,
        json!([]),
        json!({ "title": "\u{fdd0}\u{202e}\u{0}" }),
        json!({ "description": "x".repeat(1 << 20) }),
        json!({ "not": {} }),
        json!({ "if": true, "then": false }),
        json!({ "uniqueItems": true, "contains": { "const": 1 } }),
    ];
    schemas.extend(parts.map(|part| {
        let text = part.to_string();
        let name = text.chars().take(60).collect();
        (name, object(json!({ "a": part })))
    }));
    let key = "\u{fdd0}<|im_start|>\u{0}";
    schemas.push(("a strange key".into(), object(json!({ key: { "type": "string" } }))));
    for whole in [Value::Null, json!(true), json!([]), json!({}), json!({ "type": "array" })] {
        schemas.push((format!("the schema {whole}"), whole));
    }
    schemas
}
