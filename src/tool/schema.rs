//! The schema of an argument struct: draft-07, in one place, without parts that a model need not
//! read.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Derives the schema of a tool's arguments.
///
/// The type's own name and documentation are left out: the tool has a name and a description.
pub(super) fn parameters_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let Value::Object(keywords) = &mut schema else { return schema };
    keywords.remove("title");
    keywords.remove("description");
    keywords.values_mut().for_each(agree_with_type);
    if !keywords.contains_key("type") && is_object_in_every_form(keywords) {
        keywords.insert("type".to_owned(), json!("object"));
    }
    // A struct without fields has no keys, which the validator only learns from an empty list of
    // them.
    let speaks_of_keys = ["properties", "additionalProperties", "oneOf", "anyOf", "allOf", "$ref"];
    if keywords.get("type") == Some(&json!("object"))
        && !speaks_of_keys.iter().any(|key| keywords.contains_key(*key))
    {
        keywords.insert("properties".to_owned(), json!({}));
    }
    schema
}

/// Makes every part of a schema agree with the Rust type. A whole number receives the bounds of its
/// type. Names of Rust types are removed, and so is null as a default, which means that the key is
/// left out.
fn agree_with_type(part: &mut Value) {
    match part {
        Value::Object(keywords) => {
            if keywords.get("default") == Some(&Value::Null) {
                keywords.shift_remove("default");
            }
            let format = keywords.get("format").and_then(Value::as_str);
            if let Some((least, most)) = format.and_then(bounds_of) {
                keywords.shift_remove("format");
                let (least, most) =
                    (tighter(keywords, "minimum", least), tighter(keywords, "maximum", most));
                keywords.insert("minimum".to_owned(), least);
                keywords.insert("maximum".to_owned(), most);
            } else if matches!(format, Some("float" | "double")) {
                keywords.shift_remove("format");
            }
            keywords.values_mut().for_each(agree_with_type);
        }
        Value::Array(parts) => parts.iter_mut().for_each(agree_with_type),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the bounds of a whole number of this format.
fn bounds_of(format: &str) -> Option<(Value, Value)> {
    Some(match format {
        "int8" => (json!(i8::MIN), json!(i8::MAX)),
        "int16" => (json!(i16::MIN), json!(i16::MAX)),
        "int32" => (json!(i32::MIN), json!(i32::MAX)),
        "int64" | "int" => (json!(i64::MIN), json!(i64::MAX)),
        "uint8" => (json!(u8::MIN), json!(u8::MAX)),
        "uint16" => (json!(u16::MIN), json!(u16::MAX)),
        "uint32" => (json!(u32::MIN), json!(u32::MAX)),
        "uint64" | "uint" => (json!(u64::MIN), json!(u64::MAX)),
        _ => return None,
    })
}

/// Keeps the bound that is written already, unless the type's own is tighter.
fn tighter(keywords: &Map<String, Value>, key: &str, of_type: Value) -> Value {
    let Some(written) = keywords.get(key) else { return of_type };
    let is_within = if key == "minimum" {
        whole(written, f64::floor) >= whole(&of_type, f64::floor)
    } else {
        whole(written, f64::ceil).is_some_and(|it| Some(it) <= whole(&of_type, f64::ceil))
    };
    if is_within { written.clone() } else { of_type }
}

/// Returns a bound as a whole number with all its digits; a double loses those beyond 2^53.
fn whole(bound: &Value, rounded: fn(f64) -> f64) -> Option<i128> {
    let of_64_bits = bound.as_i64().map(i128::from).or_else(|| bound.as_u64().map(i128::from));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and far off it stays far off"
    )]
    of_64_bits.or_else(|| bound.as_f64().map(|bound| rounded(bound) as i128))
}

/// Returns whether every form is an object. An enum with fields in each variant is one, although
/// its schema says so only for each variant.
fn is_object_in_every_form(keywords: &Map<String, Value>) -> bool {
    let forms = keywords.get("oneOf").or_else(|| keywords.get("anyOf")).and_then(Value::as_array);
    forms.is_some_and(|forms| forms.iter().all(|form| form.get("type") == Some(&json!("object"))))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Left out.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct AddHabit {
        /// The catalogue item.
        protocol_id: String,
        frame_level: FrameLevel,
        #[schemars(length(min = 1, max = 200))]
        framed_text: String,
        anchor: Option<String>,
        #[serde(default)]
        #[schemars(range(min = 1, max = 10))]
        limit: u8,
        blocks: Vec<Block>,
    }

    #[derive(Deserialize, JsonSchema)]
    enum FrameLevel {
        L0,
        L1,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Block {
        /// One line.
        content: String,
    }

    #[test]
    fn a_struct_becomes_a_plain_inline_schema_in_the_order_of_its_fields() {
        expect_test::expect![[r#"
            {
              "type": "object",
              "properties": {
                "protocol_id": {
                  "type": "string",
                  "description": "The catalogue item."
                },
                "frame_level": {
                  "type": "string",
                  "enum": [
                    "L0",
                    "L1"
                  ]
                },
                "framed_text": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 200
                },
                "anchor": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "limit": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 10,
                  "default": 0
                },
                "blocks": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "properties": {
                      "content": {
                        "description": "One line.",
                        "type": "string"
                      }
                    },
                    "required": [
                      "content"
                    ]
                  }
                }
              },
              "required": [
                "protocol_id",
                "frame_level",
                "framed_text",
                "blocks"
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&parameters_of::<AddHabit>()).unwrap());
    }

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "by", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Find {
        Id { id: String },
        Title { title: String },
    }

    #[test]
    fn a_struct_without_fields_knows_no_key() {
        assert_eq!(parameters_of::<Nothing>(), json!({ "type": "object", "properties": {} }));
    }

    #[test]
    fn an_enum_of_objects_is_an_object() {
        let schema = parameters_of::<Find>();
        assert_eq!(schema["type"], json!("object"));
        assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_bound_beyond_its_type_gives_way_to_the_last_digit() {
        let bounds = |format: &str, least: Value, most: Value| {
            let mut schema = json!({ "format": format, "minimum": least, "maximum": most });
            agree_with_type(&mut schema);
            (schema["minimum"].clone(), schema["maximum"].clone())
        };
        let least = json!(i64::MIN);
        let most = json!(i64::MAX);
        for (written, kept) in [
            ((json!(i64::MIN), json!(1_u64 << 63)), (least.clone(), most.clone())),
            ((json!(-9.3e18), json!(9_223_372_036_854_775_808.0)), (least.clone(), most.clone())),
            ((json!("a"), json!(null)), (least, most)),
            ((json!(-1.5), json!(1.5)), (json!(-1.5), json!(1.5))),
            (
                (json!(i64::MIN + 1), json!(i64::MAX - 1)),
                (json!(i64::MIN + 1), json!(i64::MAX - 1)),
            ),
        ] {
            assert_eq!(bounds("int64", written.0, written.1), kept);
        }
        let unsigned = bounds("uint64", json!(-1), json!(18_446_744_073_709_551_616.0));
        assert_eq!(unsigned, (json!(0), json!(u64::MAX)));
    }

    #[test]
    fn any_map_stays_a_map() {
        let schema = parameters_of::<Map<String, Value>>();
        assert_eq!(schema, json!({ "type": "object", "additionalProperties": true }));
    }
}
