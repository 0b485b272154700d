//! Tests the constraint against the validator that checks every call: for generated schemas and
//! every family, both accept the same values.

use madang_actors::{protocol::Limits, registry::ToolRegistry};
use madang_parser::{
    Parser, Segment,
    call::{CallForm, braces, json as json_text},
    family::{FAMILIES, Family, Opening},
};
use madang_testing::FakeTool;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toktrie::ApproximateTokEnv;

use super::super::{
    grammar::{CallGuide, Grammars, unconstrained},
    telling::CallStyle,
};
use super::*;

const NAME: &str = "probe";

fn style(is_compact: bool) -> CallStyle {
    CallStyle { lead: String::new(), is_compact }
}

fn tool(parameters: &Value) -> ToolSpec {
    ToolSpec::new(NAME, "A tool", parameters.clone())
}

fn registry(parameters: &Value) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register(FakeTool::read(NAME).parameters(parameters.clone()))
        .expect("a generated schema is valid");
    registry
}

fn guide(family: &'static Family, is_compact: bool, parameters: &Value) -> CallGuide {
    let env = ApproximateTokEnv::single_byte_env();
    let grammars = Grammars::new(env, family, style(is_compact)).unwrap();
    let grammar = grammars
        .compiled_for(&[tool(parameters)])
        .expect("it was checked that this can be followed");
    grammar.begin("").expect("every call begins")
}

/// Returns how far a text is allowed.
fn passed(guide: &mut CallGuide, text: &str) -> usize {
    let mut passes = |byte: u8| {
        let token = u32::from(byte);
        let is_allowed = guide.allowed().is_some_and(|allowed| allowed.is_allowed(token));
        assert_eq!(guide.allows(token), is_allowed, "a token by itself is judged as among all");
        is_allowed && guide.take(token)
    };
    text.bytes().position(|byte| !passes(byte)).unwrap_or(text.len())
}

/// Writes a call in the canonical form of a family, keys in order.
fn canonical(family: &Family, is_compact: bool, arguments: &Value) -> String {
    if let CallForm::Braces(quote) = family.form {
        let written = braces::literal(arguments, quote).expect("it can be written");
        return format!("call:{NAME}{written}");
    }
    if is_compact {
        let head = family.form.write(NAME, "ARGUMENTS").replace(": ", ":").replace(", ", ",");
        return head.replace("ARGUMENTS", &arguments.to_string());
    }
    family.form.write(NAME, &json_text::write(arguments, None))
}

/// Reads the arguments of the first call in a block.
fn read(family: &'static Family, parameters: &Value, block: &str) -> Option<String> {
    let mut parser = Parser::new(family, &[]).offering([tool(parameters)].into());
    let opening = match family.opening {
        Opening::Marker(marker) => marker,
        Opening::Header(channels) => channels.tools,
        Opening::Answer(_) => "",
    };
    let mut found = Vec::new();
    parser.push(&format!("{opening}{block}"), &mut found);
    parser.finish(false, &mut found);
    found.into_iter().find_map(|found| match found {
        Segment::Call(call) => Some(call.arguments.to_string()),
        Segment::Text(_) | Segment::Thinking(_) | Segment::Malformed(_) => None,
    })
}

/// Draws a schema, and a generator of values for it from a list of numbers.
fn schema() -> impl Strategy<Value = Value> {
    let number = -30_i32..30;
    let bounds = (number.clone(), 0_i32..20).prop_map(|(low, width)| (low, low + width));
    let string = prop_oneof![
        Just(json!({"type": "string"})),
        (0_u32..4, 0_u32..5).prop_map(
            |(min, more)| json!({"type": "string", "minLength": min, "maxLength": min + more})
        ),
        Just(json!({"type": "string", "format": "date"})),
        proptest::collection::vec("[a-c'\"\\\\ 잠]{0,4}", 1..4).prop_map(|texts| {
            let mut texts = texts;
            texts.sort();
            texts.dedup();
            json!({"type": "string", "enum": texts})
        }),
    ];
    let leaf = prop_oneof![
        string,
        bounds
            .clone()
            .prop_map(|(low, high)| json!({"type": "integer", "minimum": low, "maximum": high})),
        number
            .clone()
            .prop_map(|low| json!({"type": "integer", "minimum": low, "format": "int32"})),
        (bounds, any::<bool>()).prop_map(|((low, high), is_exclusive)| {
            let low = f64::from(low) / 4.0;
            let high = f64::from(high) / 4.0 + 0.5;
            if is_exclusive {
                json!({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high})
            } else {
                json!({"type": "number", "minimum": low, "maximum": high})
            }
        }),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["string", "null"], "maxLength": 3})),
        Just(json!({"const": [1, {"a": "b"}]})),
        Just(json!({"$ref": "#/$defs/Level"})),
    ];
    let inner = leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0_u32..3, 0_u32..3).prop_map(|(items, min, more)| json!({
                "type": "array", "items": items, "minItems": min, "maxItems": min + more,
            })),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            object(inner.clone()),
            inner.clone().prop_map(|schema| json!({"anyOf": [schema, {"type": "null"}]})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    });
    object(inner).prop_map(|mut schema| {
        schema["$defs"] = json!({"Level": {"enum": ["low", "high", 3, null]}});
        schema
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec((inner, any::<bool>()), 0..4).prop_map(|members| {
        let names = ["b", "a_1", "cc", "a"];
        let mut properties = Map::new();
        let mut required = Vec::new();
        for ((schema, is_required), name) in members.into_iter().zip(names) {
            if is_required {
                required.push(name);
            }
            properties.insert(name.to_owned(), schema);
        }
        json!({"type": "object", "properties": properties, "required": required})
    })
}

/// Generates a value that may fit a schema.
struct Maker<'a> {
    root: &'a Value,
    dice: std::vec::IntoIter<u32>,
}

impl Maker<'_> {
    fn roll(&mut self, sides: u64) -> u64 {
        u64::from(self.dice.next().unwrap_or(0)) % sides.max(1)
    }

    fn value(&mut self, schema: &Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let schema = self.root.pointer(&reference[1..]).unwrap().clone();
            return self.value(&schema);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[usize::try_from(self.roll(values.len() as u64)).unwrap()].clone();
        }
        if let Some(schemas) = schema["anyOf"].as_array() {
            let at = usize::try_from(self.roll(schemas.len() as u64)).unwrap();
            return self.value(&schemas[at]);
        }
        let mut kind = schema["type"].clone();
        if let Some(types) = schema["type"].as_array() {
            kind = types[usize::try_from(self.roll(types.len() as u64)).unwrap()].clone();
        }
        match kind.as_str().unwrap() {
            "null" => Value::Null,
            "boolean" => Value::from(self.roll(2) == 1),
            "string" if schema.get("format").is_some() => {
                let year = self.roll(10_000);
                let month = self.roll(13);
                let day = self.roll(33);
                Value::from(format!("{year:04}-{month:02}-{day:02}"))
            }
            "string" => {
                let min = schema["minLength"].as_u64().unwrap_or(0);
                let max = schema["maxLength"].as_u64().unwrap_or(min + 4);
                let letters: Vec<char> = "a'\"\\\n\u{1}\u{7f}/<|>{}[],:=() 잠🌱é".chars().collect();
                let len = min + self.roll(max - min + 2);
                (0..len)
                    .map(|_| letters[usize::try_from(self.roll(letters.len() as u64)).unwrap()])
                    .collect::<String>()
                    .into()
            }
            "integer" => {
                let low = schema["minimum"].as_i64().unwrap_or(-1_000_000);
                let high = schema["maximum"].as_i64().unwrap_or(low + 2_000_000);
                let width = u64::try_from(high - low).unwrap() + 3;
                Value::from(low - 1 + i64::try_from(self.roll(width)).unwrap())
            }
            "number" => {
                let low = schema["minimum"]
                    .as_f64()
                    .or(schema["exclusiveMinimum"].as_f64())
                    .unwrap_or(-50.0);
                let quarters = u32::try_from(self.roll(400)).unwrap();
                let number = low - 0.25 + f64::from(quarters) / 16.0;
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                let whole = number as i64;
                if number.fract() == 0.0 { Value::from(whole) } else { Value::from(number) }
            }
            "array" => {
                let min = schema["minItems"].as_u64().unwrap_or(0);
                let max = schema["maxItems"].as_u64().unwrap_or(min + 2);
                let len = min + self.roll(max - min + 2);
                (0..len).map(|_| self.value(&schema["items"])).collect()
            }
            "object" => {
                let mut members = Map::new();
                let Some(properties) = schema["properties"].as_object() else {
                    for at in 0..self.roll(3) {
                        let value = self.value(&schema["additionalProperties"]);
                        members.insert(format!("key_{at}"), value);
                    }
                    return Value::Object(members);
                };
                for (name, schema) in properties {
                    if self.roll(4) > 0 {
                        members.insert(name.clone(), self.value(schema));
                    }
                }
                Value::Object(members)
            }
            other => unreachable!("the schemas here have no type {other}"),
        }
    }
}

/// Returns the next letter of the mark that a text has begun to write at its end, or the first of
/// the mark.
fn next_of(mark: &str, text: &[u8]) -> (usize, u8) {
    let mark = mark.as_bytes();
    let begun = (1..mark.len()).rev().find(|len| text.ends_with(&mark[..*len])).unwrap_or(0);
    (begun, mark[begun])
}

/// Writes a text that the constraint allows, by dice. Sometimes it writes one of these marks.
fn walk(guide: &mut CallGuide, dice: &[u8], marks: &[&str]) -> Option<String> {
    let mut text = Vec::new();
    for die in dice {
        let Some(allowed) = guide.allowed() else { break };
        let next = marks.iter().map(|mark| next_of(mark, &text)).max();
        let next = next.filter(|(begun, _)| *begun > 0 || die % 8 < 4).map(|(_, letter)| letter);
        let next = next.filter(|letter| allowed.is_allowed(u32::from(*letter)));
        if let Some(letter) = next {
            text.push(letter);
            if !guide.take(u32::from(letter)) {
                return None;
            }
            continue;
        }
        // Closing is sometimes tried first, so that calls end.
        let wanted: &[u8] = match die % 8 {
            0..=2 => b"}])\">|0",
            3 => b",e\\",
            _ => &[],
        };
        let bytes = wanted.iter().copied().chain((0..=255_u8).map(|byte| byte.wrapping_add(*die)));
        let mut fitting = bytes.filter(|byte| allowed.is_allowed(u32::from(*byte)));
        let Some(byte) = fitting.next() else { break };
        text.push(byte);
        if !guide.take(u32::from(byte)) {
            return None;
        }
    }
    // Only a complete call counts.
    match guide.allowed() {
        None => String::from_utf8(text).ok(),
        Some(_) => None,
    }
}

fn families() -> impl Strategy<Value = (&'static Family, bool)> {
    (0..FAMILIES.len(), any::<bool>()).prop_map(|(at, is_compact)| {
        let family = FAMILIES[at];
        let has_json =
            !matches!(family.form, CallForm::Braces(_) | CallForm::Python | CallForm::Tagged(_));
        (family, is_compact && has_json)
    })
}

proptest! {
    #[test]
    fn what_the_validator_accepts_the_constraint_lets_pass(
        (family, is_compact) in families(),
        schema in schema(),
        dice in proptest::collection::vec(any::<u32>(), 60),
    ) {
        prop_assert_eq!(unconstrained(family, style(is_compact), &[tool(&schema)]), []);
        let value = Maker { root: &schema, dice: dice.into_iter() }.value(&schema);
        let registry = registry(&schema);
        let is_valid = registry.get(NAME).unwrap().validate(value.clone()).is_ok();
        let call = canonical(family, is_compact, &value);
        let passed = passed(&mut guide(family, is_compact, &schema), &call);
        prop_assert_eq!(passed == call.len(), is_valid, "{}: {} stopped behind {:?}", family.name, call, call.get(..passed));
    }

    #[test]
    fn what_the_constraint_lets_pass_the_validator_accepts(
        (family, is_compact) in families(),
        schema in schema(),
        dice in proptest::collection::vec(any::<u8>(), 600),
    ) {
        let mut guide = guide(family, is_compact, &schema);
        let ends = match family.form {
            CallForm::Tagged(tags) => vec![tags.end, tags.after],
            form @ CallForm::Marked(_) if form.separator().is_some() => family.closing.to_vec(),
            CallForm::Object { .. }
            | CallForm::Objects(_)
            | CallForm::Marked(_)
            | CallForm::Braces(_)
            | CallForm::Python => Vec::new(),
        };
        let written = walk(&mut guide, &dice, &ends);
        prop_assume!(written.is_some());
        let block = written.unwrap();
        let arguments = read(family, &schema, &block);
        prop_assert!(arguments.is_some(), "{}: {block}", family.name);
        let registry = registry(&schema);
        let checked = registry.get(NAME).unwrap().check(&arguments.unwrap(), &Limits::default());
        prop_assert!(checked.is_ok(), "{}: {block}: {checked:?}", family.name);
    }
}
