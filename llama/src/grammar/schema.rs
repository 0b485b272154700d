//! Turns the JSON Schema of a tool into grammar rules. They allow exactly the values that fit the
//! schema, in canonical form. A part that they cannot follow is reported.

use std::{collections::HashMap, fmt::Write as _};

use madang_parser::call::CallForm;
use serde_json::{Map, Value, json};

use super::{
    super::telling::CallStyle,
    any::{ANY, ANY_OBJECT},
    keywords::{
        ANNOTATIONS, Rule, Unknown, check_keywords, choices, closed_properties, counts,
        no_alternatives, unknown, values,
    },
    notation::{Notation, lark_string},
    numbers,
};

/// A part of a schema that has no rules. Any value is allowed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Gap {
    /// A JSON Pointer into the schema.
    pub(in super::super) pointer: String,
    /// The keyword that cannot be followed.
    pub(in super::super) keyword: String,
}

/// The most rules for one tool.
const MAX_RULES: usize = 2_000;
/// The greatest depth of a schema.
pub(super) const MAX_DEPTH: usize = 32;

/// Writes the rules for one tool.
#[derive(Debug)]
pub(super) struct SchemaRules<'s> {
    pub(super) notation: Notation,
    /// The form around the values.
    form: CallForm,
    /// The prefix of the rules' names.
    prefix: String,
    pub(super) root: &'s Value,
    pub(super) rules: String,
    count: usize,
    depth: usize,
    /// The JSON Pointer to the part of the schema that is read.
    pub(super) pointer: String,
    /// Rules of referenced schemas. `None` while one is written, because a schema may contain
    /// itself.
    references: HashMap<String, Option<String>>,
    pub(super) gaps: Vec<Gap>,
}

impl<'s> SchemaRules<'s> {
    pub(super) fn new(form: CallForm, style: &CallStyle, prefix: String, root: &'s Value) -> Self {
        Self {
            notation: Notation::of(form, style),
            form,
            prefix,
            root,
            rules: String::new(),
            count: 0,
            depth: 0,
            pointer: String::new(),
            references: HashMap::new(),
            gaps: Vec::new(),
        }
    }

    /// Writes the rule for the arguments of a call.
    pub(super) fn arguments(&mut self) -> String {
        let rule = match self.form {
            CallForm::Python => self.keywords(),
            CallForm::Tagged(tags) => self.tagged(tags),
            CallForm::Object { .. }
            | CallForm::Objects(_)
            | CallForm::Marked(_)
            | CallForm::Braces(_) => self.arguments_object(),
        };
        rule.unwrap_or_else(|Unknown(keyword)| {
            self.gaps.push(Gap { pointer: self.pointer.clone(), keyword });
            self.any_arguments()
        })
    }

    /// Writes the rule for any arguments.
    pub(super) fn any_arguments(&mut self) -> String {
        match self.form {
            CallForm::Python => self.rule(&format!("(KEYWORD {ANY} (\", \" KEYWORD {ANY})*)?")),
            CallForm::Tagged(tags) => self.any_tagged(tags),
            CallForm::Object { .. }
            | CallForm::Objects(_)
            | CallForm::Marked(_)
            | CallForm::Braces(_) => ANY_OBJECT.to_owned(),
        }
    }

    fn arguments_object(&mut self) -> Rule {
        let schema = self.root.as_object().ok_or_else(|| unknown("type"))?;
        check_keywords(schema)?;
        no_alternatives(schema)?;
        self.object(schema)
    }

    /// Writes the arguments of Python between their parentheses.
    fn keywords(&mut self) -> Rule {
        let schema = self.root.as_object().ok_or_else(|| unknown("type"))?;
        check_keywords(schema)?;
        no_alternatives(schema)?;
        let Some(properties) = closed_properties(schema)? else { return Ok(self.any_arguments()) };
        let is_name = |key: &str| {
            key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let members = self.members(schema, properties, ", ", &|rules, key, step, schema| {
            let key =
                is_name(key).then(|| format!("{key}=")).ok_or_else(|| unknown("properties"))?;
            Ok(format!("{} {}", lark_string(&key), rules.value_in(step, schema)))
        })?;
        Ok(self.rule(&members))
    }

    /// Writes the rule for a value. If the schema cannot be followed, records the gap and allows
    /// any value.
    pub(super) fn value(&mut self, schema: &Value) -> String {
        self.depth += 1;
        let rule = if self.depth > MAX_DEPTH || self.count > MAX_RULES {
            Err(unknown("size"))
        } else {
            self.strict(schema)
        };
        self.depth -= 1;
        rule.unwrap_or_else(|Unknown(keyword)| {
            self.gaps.push(Gap { pointer: self.pointer.clone(), keyword });
            ANY.to_owned()
        })
    }

    /// Writes the rule for a nested schema.
    fn value_in(&mut self, step: &str, schema: &Value) -> String {
        self.nested(step, |rules| rules.value(schema))
    }

    /// Writes a rule with the pointer moved to a nested schema.
    pub(super) fn nested(&mut self, step: &str, write: impl FnOnce(&mut Self) -> String) -> String {
        let outer = self.pointer.len();
        write!(self.pointer, "/{step}").expect("a string takes everything");
        let rule = write(self);
        self.pointer.truncate(outer);
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
            // Keywords next to a reference count too, as in later drafts.
            let is_alone = schema.keys().all(|key| key == "$ref" || ANNOTATIONS.contains(&&**key));
            return if is_alone { self.reference(reference) } else { Err(unknown("$ref")) };
        }
        check_keywords(schema)?;
        if let Some(values) = values(schema)? {
            return self.literals(&values);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let Some(schemas) = schema.get(keyword) else { continue };
            let is_alone = schema.keys().all(|key| key == keyword || ANNOTATIONS.contains(&&**key));
            let schemas = choices(keyword, schemas, is_alone)?;
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
            // Without a type, the keywords of all types count, each for its own type.
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

    pub(super) fn of_type(&mut self, name: &str, schema: &Map<String, Value>) -> Rule {
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
        let outer = std::mem::replace(&mut self.pointer, pointer.to_owned());
        let rule = self.value(schema);
        self.pointer = outer;
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
        let numbers = match name {
            "integer" => numbers::integer(schema),
            _ => numbers::number(schema),
        }?;
        Ok(self.rule(&numbers))
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
        let separator = notation.separator();
        let members =
            self.members(schema, properties, separator, &|rules, key, step, schema| {
                let key = notation.key(key).ok_or_else(|| unknown("properties"))?;
                Ok(format!("{} {}", lark_string(&key), rules.value_in(step, schema)))
            })?;
        Ok(self.rule(&format!("\"{{\" {members} \"}}\"")))
    }

    /// Writes members in the order of the schema, required or not.
    pub(super) fn members(
        &mut self,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        separator: &str,
        pair: &dyn Fn(&mut Self, &str, &str, &Value) -> Rule,
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
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let pair = pair(self, name, &format!("properties/{escaped}"), schema)?;
            pairs.push((pair, required.contains(&&**name)));
        }
        let separator = if separator.is_empty() { String::new() } else { lark_string(separator) };
        // From the last member to the first: how the object may go on after each.
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

    /// Writes the rule for an object with any keys.
    fn dictionary(&mut self, value: &str) -> String {
        let separator = lark_string(self.notation.separator());
        self.rule(&format!("\"{{\" (KEY {value} ({separator} KEY {value})*)? \"}}\""))
    }

    pub(super) fn rule(&mut self, body: &str) -> String {
        self.define('r', body)
    }

    pub(super) fn terminal(&mut self, body: &str) -> String {
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
