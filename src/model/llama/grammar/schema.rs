//! From the JSON Schema of a tool to grammar rules that follow it exactly: what the rules let pass the schema allows,
//! and what the schema allows they let pass in canonical form. What they cannot follow is named.

use std::{collections::HashMap, fmt::Write as _};

use serde_json::{Map, Value, json};

use super::notation::Notation;

/// A part of a schema that no rules follow: any value passes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Gap {
    /// Where, as a JSON Pointer into the schema.
    pub(in super::super) place: String,
    /// Because of which keyword.
    pub(in super::super) keyword: String,
}

/// Says nothing about values.
const ANNOTATIONS: [&str; 12] = [
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$comment",
    "$defs",
    "definitions",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
];
/// Says something about values of one type only.
const BY_TYPE: [&str; 13] = [
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];
/// Numbers beyond this are no whole numbers everywhere (RFC 7493), and have no exponents below it.
const MAX_NUMBER: i64 = (1 << 53) - 1;
/// What is nearer to zero is written with an exponent.
const LEAST_NUMBER: f64 = 1e-5;
/// More repetitions than this make a grammar too large.
const MAX_COUNT: u64 = 4_096;
/// Rules for one tool.
const MAX_RULES: usize = 2_000;
/// How deep schemas may lie in each other.
const MAX_DEPTH: usize = 32;
/// How deep values may lie in each other where anything passes.
const ANY_DEPTH: usize = 8;
/// The rules for any value and any object, which all tools share.
const ANY: &str = "any_8";
const ANY_OBJECT: &str = "any_object_8";

/// Writes the rules for one tool.
#[derive(Debug)]
pub(super) struct SchemaRules<'s> {
    notation: Notation,
    /// Begins the names of the rules.
    prefix: String,
    root: &'s Value,
    pub(super) rules: String,
    count: usize,
    depth: usize,
    /// Where the schema is followed just now.
    place: String,
    /// Rules of referenced schemas; `None` while one is written, for a schema that contains itself has no end.
    references: HashMap<String, Option<String>>,
    pub(super) gaps: Vec<Gap>,
}

/// A schema cannot be followed because of this keyword.
struct Unknown(String);

type Rule = Result<String, Unknown>;

fn unknown(keyword: &str) -> Unknown {
    Unknown(keyword.to_owned())
}

impl<'s> SchemaRules<'s> {
    pub(super) fn new(notation: Notation, prefix: String, root: &'s Value) -> Self {
        Self {
            notation,
            prefix,
            root,
            rules: String::new(),
            count: 0,
            depth: 0,
            place: String::new(),
            references: HashMap::new(),
            gaps: Vec::new(),
        }
    }

    /// The rule for the arguments of a call.
    pub(super) fn arguments(&mut self) -> String {
        let rule = match self.notation {
            Notation::Python => self.keywords(),
            Notation::Json(_) | Notation::Braces(_) => self.arguments_object(),
        };
        rule.unwrap_or_else(|Unknown(keyword)| {
            self.gaps.push(Gap { place: self.place.clone(), keyword });
            self.any_arguments()
        })
    }

    /// Any arguments at all.
    pub(super) fn any_arguments(&mut self) -> String {
        match self.notation {
            Notation::Python => self.rule(&format!("(KEYWORD {ANY} (\", \" KEYWORD {ANY})*)?")),
            Notation::Json(_) | Notation::Braces(_) => ANY_OBJECT.to_owned(),
        }
    }

    fn arguments_object(&mut self) -> Rule {
        let schema = self.root.as_object().ok_or_else(|| unknown("type"))?;
        check_keywords(schema)?;
        no_alternatives(schema)?;
        self.object(schema)
    }

    /// The arguments of Python between their parentheses.
    fn keywords(&mut self) -> Rule {
        let schema = self.root.as_object().ok_or_else(|| unknown("type"))?;
        check_keywords(schema)?;
        no_alternatives(schema)?;
        let Some(properties) = closed_properties(schema)? else { return Ok(self.any_arguments()) };
        let is_name = |key: &str| {
            key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let members =
            self.members(schema, properties, &|key| is_name(key).then(|| format!("{key}=")))?;
        Ok(self.rule(&members))
    }

    /// The rule for a value; where the schema cannot be followed that is noted and any value passes.
    fn value(&mut self, schema: &Value) -> String {
        self.depth += 1;
        let rule = if self.depth > MAX_DEPTH || self.count > MAX_RULES {
            Err(unknown("size"))
        } else {
            self.strict(schema)
        };
        self.depth -= 1;
        rule.unwrap_or_else(|Unknown(keyword)| {
            self.gaps.push(Gap { place: self.place.clone(), keyword });
            ANY.to_owned()
        })
    }

    /// The same for a schema that lies in another one.
    fn value_in(&mut self, place: &str, schema: &Value) -> String {
        let outer = self.place.len();
        write!(self.place, "/{place}").expect("a string takes everything");
        let rule = self.value(schema);
        self.place.truncate(outer);
        rule
    }

    fn strict(&mut self, schema: &Value) -> Rule {
        let schema = match schema {
            Value::Bool(true) => return Ok(ANY.to_owned()),
            Value::Object(schema) => schema,
            Value::Bool(false)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return Err(unknown("false"));
            }
        };
        if let Some(reference) = schema.get("$ref") {
            return self.reference(reference);
        }
        check_keywords(schema)?;
        if let Some(values) = values(schema)? {
            return self.literals(&values);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let Some(schemas) = schema.get(keyword) else { continue };
            let is_alone = schema.keys().all(|key| key == keyword || ANNOTATIONS.contains(&&**key));
            let schemas =
                schemas.as_array().filter(|_| is_alone).ok_or_else(|| unknown(keyword))?;
            let is_choice = match keyword {
                "oneOf" => are_apart(schemas),
                "allOf" => schemas.len() == 1,
                _ => !schemas.is_empty(),
            };
            if !is_choice {
                return Err(unknown(keyword));
            }
            let rules: Vec<String> = schemas
                .iter()
                .enumerate()
                .map(|(at, schema)| self.value_in(&format!("{keyword}/{at}"), schema))
                .collect();
            return Ok(self.rule(&rules.join(" | ")));
        }
        let types = match schema.get("type") {
            Some(Value::String(single)) => vec![single.as_str()],
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            // Without a type the keywords of all types count, each for its own.
            Some(_) | None if schema.keys().all(|key| ANNOTATIONS.contains(&&**key)) => {
                return Ok(ANY.to_owned());
            }
            Some(_) | None => return Err(unknown("type")),
        };
        let mut rules = Vec::new();
        for name in types {
            rules.push(self.of_type(name, schema)?);
        }
        Ok(self.rule(&rules.join(" | ")))
    }

    fn of_type(&mut self, name: &str, schema: &Map<String, Value>) -> Rule {
        match name {
            "object" => self.object(schema),
            "array" => self.array(schema),
            "string" => self.string(schema),
            "integer" | "number" => self.number(name, schema),
            "boolean" => self.literals(&[json!(true), json!(false)]),
            "null" => self.literals(&[Value::Null]),
            _ => Err(unknown("type")),
        }
    }

    fn reference(&mut self, reference: &Value) -> Rule {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let pointer = pointer.ok_or_else(|| unknown("$ref"))?;
        if let Some(known) = self.references.get(pointer) {
            return known.clone().ok_or_else(|| unknown("$ref"));
        }
        let schema = self.root.pointer(pointer).ok_or_else(|| unknown("$ref"))?;
        self.references.insert(pointer.to_owned(), None);
        let outer = std::mem::replace(&mut self.place, pointer.to_owned());
        let rule = self.value(schema);
        self.place = outer;
        self.references.insert(pointer.to_owned(), Some(rule.clone()));
        Ok(rule)
    }

    fn literals(&mut self, values: &[Value]) -> Rule {
        let mut written = Vec::new();
        for value in values {
            let ways = self.notation.literals(value);
            if ways.is_empty() {
                return Err(unknown("enum"));
            }
            written.extend(ways.into_iter().map(|way| lark_string(&way)));
        }
        if written.is_empty() {
            return Err(unknown("enum"));
        }
        Ok(self.rule(&written.join(" | ")))
    }

    fn string(&mut self, schema: &Map<String, Value>) -> Rule {
        let (min, max) = counts(schema, "minLength", "maxLength")?;
        let strings = match schema.get("format").and_then(Value::as_str) {
            None if !schema.contains_key("format") => self.notation.string(min, max),
            Some("date") if min == 0 && max.is_none() => self.notation.date(),
            Some(_) | None => return Err(unknown("format")),
        };
        Ok(self.terminal(&strings))
    }

    fn number(&mut self, name: &str, schema: &Map<String, Value>) -> Rule {
        let (min, max) = if name == "integer" { whole_bounds(schema) } else { bounds(schema) }?;
        Ok(self.rule(&format!("%json {}", json!({"type": name, "minimum": min, "maximum": max}))))
    }

    fn array(&mut self, schema: &Map<String, Value>) -> Rule {
        let (min, max) = counts(schema, "minItems", "maxItems")?;
        if max == Some(0) {
            return Ok(self.rule("\"[]\""));
        }
        let item = match schema.get("items") {
            None => ANY.to_owned(),
            Some(items @ (Value::Object(_) | Value::Bool(_))) => self.value_in("items", items),
            Some(_) => return Err(unknown("items")),
        };
        let more = format!("({} {item})", lark_string(self.notation.separator()));
        let more = match max {
            Some(1) => String::new(),
            Some(max) => format!("{more}{{{},{}}}", min.max(1) - 1, max - 1),
            None if min <= 1 => format!("{more}*"),
            None => format!("{more}{{{},}}", min - 1),
        };
        let items = self.rule(&format!("{item} {more}"));
        Ok(self.rule(&format!("\"[\" {items}{} \"]\"", if min == 0 { "?" } else { "" })))
    }

    fn object(&mut self, schema: &Map<String, Value>) -> Rule {
        let Some(properties) = closed_properties(schema)? else {
            return match schema.get("additionalProperties") {
                None | Some(Value::Bool(true)) => Ok(ANY_OBJECT.to_owned()),
                Some(others) => {
                    let value = self.value_in("additionalProperties", others);
                    Ok(self.dictionary(&value))
                }
            };
        };
        let notation = self.notation;
        let members = self.members(schema, properties, &|key| notation.key(key))?;
        Ok(self.rule(&format!("\"{{\" {members} \"}}\"")))
    }

    /// Members in the order of the schema, those that are not required or not.
    fn members(
        &mut self,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        key: &dyn Fn(&str) -> Option<String>,
    ) -> Rule {
        let required: Vec<&str> = match schema.get("required") {
            None => Vec::new(),
            Some(names) => {
                names.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
            }
        };
        if required.iter().any(|name| !properties.contains_key(*name)) {
            return Err(unknown("required"));
        }
        let mut pairs = Vec::new();
        for (name, schema) in properties {
            let key = key(name).ok_or_else(|| unknown("properties"))?;
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let value = self.value_in(&format!("properties/{escaped}"), schema);
            pairs.push((format!("{} {value}", lark_string(&key)), required.contains(&&**name)));
        }
        let separator = lark_string(self.notation.separator());
        // From the last one to the first: what may come behind each.
        let mut behind = String::new();
        let mut beginnings = Vec::new();
        let mut can_be_empty = true;
        for (pair, is_required) in pairs.iter().rev() {
            if *is_required {
                beginnings.clear();
                can_be_empty = false;
            }
            beginnings.push(format!("{pair} {behind}"));
            let optional = if *is_required { "" } else { "?" };
            behind = self.rule(&format!("({separator} {pair}){optional} {behind}"));
        }
        if beginnings.is_empty() {
            return Ok(String::new());
        }
        let members = beginnings.join(" | ");
        Ok(format!("({members}){}", if can_be_empty { "?" } else { "" }))
    }

    /// An object with any keys.
    fn dictionary(&mut self, value: &str) -> String {
        let separator = lark_string(self.notation.separator());
        self.rule(&format!("\"{{\" (KEY {value} ({separator} KEY {value})*)? \"}}\""))
    }

    fn rule(&mut self, body: &str) -> String {
        self.define('r', body)
    }

    fn terminal(&mut self, body: &str) -> String {
        self.define('T', body)
    }

    fn define(&mut self, kind: char, body: &str) -> String {
        let prefix = if kind == 'T' { self.prefix.to_uppercase() } else { self.prefix.clone() };
        let name = format!("{prefix}{}", self.count);
        self.count += 1;
        writeln!(self.rules, "{name}: {body}").expect("a string takes everything");
        name
    }
}

/// The rules for any value, which all tools share.
pub(super) fn any_rules(notation: Notation) -> String {
    let separator = lark_string(notation.separator());
    let mut rules = format!(
        "KEY: {}\nKEYWORD: /[a-zA-Z_][a-zA-Z0-9_]*=/\nTEXT: {}\n",
        notation.any_key(),
        notation.string(0, None)
    );
    let words = [Value::Null, json!(true), json!(false)];
    let words: Vec<String> = words
        .iter()
        .flat_map(|word| notation.literals(word))
        .map(|word| lark_string(&word))
        .collect();
    let number = json!({"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER});
    write!(rules, "any_number: %json {number}\nany_0: TEXT | any_number | {}\n", words.join(" | "))
        .expect("a string takes everything");
    for depth in 1..=ANY_DEPTH {
        let inner = depth - 1;
        write!(
            rules,
            "any_object_{depth}: \"{{\" (KEY any_{inner} ({separator} KEY any_{inner})*)? \"}}\"\n\
             any_{depth}: any_0 | any_object_{depth} | \"[\" (any_{inner} ({separator} any_{inner})*)? \"]\"\n"
        )
        .expect("a string takes everything");
    }
    rules
}

/// A text as a Lark literal.
pub(super) fn lark_string(text: &str) -> String {
    Value::from(text).to_string()
}

fn check_keywords(schema: &Map<String, Value>) -> Result<(), Unknown> {
    let is_known = |key: &str| {
        ANNOTATIONS.contains(&key)
            || BY_TYPE.contains(&key)
            || matches!(key, "type" | "enum" | "const" | "anyOf" | "oneOf" | "allOf")
    };
    match schema.keys().find(|key| !is_known(key)) {
        Some(key) => Err(unknown(key)),
        None => Ok(()),
    }
}

fn no_alternatives(schema: &Map<String, Value>) -> Result<(), Unknown> {
    let found = ["enum", "const", "anyOf", "oneOf", "allOf"]
        .into_iter()
        .find(|key| schema.contains_key(*key));
    found.map_or(Ok(()), |key| Err(unknown(key)))
}

/// The values that are listed, where some are, without those of other types.
fn values(schema: &Map<String, Value>) -> Result<Option<Vec<Value>>, Unknown> {
    let (keyword, values) = match (schema.get("const"), schema.get("enum")) {
        (None, None) => return Ok(None),
        (Some(value), None) => ("const", vec![value.clone()]),
        (None, Some(values)) => ("enum", values.as_array().cloned().unwrap_or_default()),
        (Some(_), Some(_)) => return Err(unknown("const")),
    };
    let is_other = |key: &String| key != keyword && key != "type" && !ANNOTATIONS.contains(&&**key);
    if schema.keys().any(is_other) {
        return Err(unknown(keyword));
    }
    let types: Vec<&str> = match schema.get("type") {
        None => return Ok(Some(values)),
        Some(Value::String(name)) => vec![name],
        Some(names) => names.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let fits = |value: &Value| types.iter().any(|name| is_of_type(value, name));
    Ok(Some(values.into_iter().filter(fits).collect()))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            name == "number" || (name == "integer" && (number.is_i64() || number.is_u64()))
        }
    }
}

/// Whether no value can fit two of these schemas: they list values, all different, or have types, all different.
fn are_apart(schemas: &[Value]) -> bool {
    let objects: Vec<&Map<String, Value>> = schemas.iter().filter_map(Value::as_object).collect();
    if objects.len() != schemas.len() || objects.is_empty() {
        return false;
    }
    let listed: Option<Vec<Vec<Value>>> =
        objects.iter().map(|schema| values(schema).ok().flatten()).collect();
    if let Some(listed) = listed {
        let all: Vec<Value> = listed.concat();
        return all.iter().enumerate().all(|(at, value)| !all[..at].contains(value));
    }
    let types: Option<Vec<&str>> = objects
        .iter()
        .map(|schema| match schema.get("type")?.as_str()? {
            "integer" => Some("number"),
            other => Some(other),
        })
        .collect();
    types
        .is_some_and(|types| types.iter().enumerate().all(|(at, name)| !types[..at].contains(name)))
}

/// The properties of an object that has no others; `None` where it names none.
fn closed_properties(schema: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, Unknown> {
    let others = schema.get("additionalProperties");
    let properties = schema.get("properties").and_then(Value::as_object);
    match (properties, others) {
        (None, Some(Value::Bool(false))) if schema.get("required").is_none() => {
            static NONE: std::sync::LazyLock<Map<String, Value>> =
                std::sync::LazyLock::new(Map::new);
            Ok(Some(&NONE))
        }
        (None, _) if schema.get("required").is_none_or(|names| *names == json!([])) => Ok(None),
        (None, _) => Err(unknown("required")),
        (Some(properties), None | Some(Value::Bool(false))) => Ok(Some(properties)),
        (Some(properties), Some(_)) if properties.is_empty() => Ok(None),
        (Some(_), Some(_)) => Err(unknown("additionalProperties")),
    }
}

fn counts(
    schema: &Map<String, Value>,
    least: &str,
    most: &str,
) -> Result<(u64, Option<u64>), Unknown> {
    let count = |keyword: &str| match schema.get(keyword) {
        None => Ok(None),
        Some(count) => match count.as_u64() {
            Some(count) if count <= MAX_COUNT => Ok(Some(count)),
            Some(_) | None => Err(unknown(keyword)),
        },
    };
    let (min, max) = (count(least)?.unwrap_or(0), count(most)?);
    if max.is_some_and(|max| max < min) { Err(unknown(most)) } else { Ok((min, max)) }
}

/// The least and the greatest number; beyond what is exact everywhere none passes.
fn bounds(schema: &Map<String, Value>) -> Result<(f64, f64), Unknown> {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let limit = MAX_NUMBER as f64;
    let number = |keyword: &str| match schema.get(keyword) {
        None => Ok(None),
        Some(number) => number.as_f64().map(Some).ok_or_else(|| unknown(keyword)),
    };
    let min = [number("minimum")?, number("exclusiveMinimum")?.map(above), Some(-limit)];
    let max = [
        number("maximum")?,
        number("exclusiveMaximum")?.map(|number| -above(-number)),
        Some(limit),
    ];
    let min = min.into_iter().flatten().fold(f64::NEG_INFINITY, f64::max);
    let max = max.into_iter().flatten().fold(f64::INFINITY, f64::min);
    if min > max { Err(unknown("maximum")) } else { Ok((min, max)) }
}

/// The next number that is written without an exponent.
fn above(number: f64) -> f64 {
    if number == 0.0 { LEAST_NUMBER } else { number.next_up() }
}

fn whole_bounds(schema: &Map<String, Value>) -> Result<(f64, f64), Unknown> {
    let (min, max) = bounds(schema)?;
    let (min, max) = (min.ceil(), max.floor());
    if min > max { Err(unknown("maximum")) } else { Ok((min, max)) }
}
