//! The shape of a schema: which of its parts hold where in a value. Built once, with the bounds
//! that keep schema compiler and validator from overflowing the stack or taking forever.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::protocol::is_deeper;

/// Levels of a schema as JSON, and schemas on the longest path through its references, because the
/// compiler recurses.
const MAX_LEVELS: usize = 64;
/// Schemas inside one schema: a hundred times what a tool needs.
const MAX_SCHEMAS: usize = 4_096;
/// Schemas on the longest path that holds for one and the same value: the validator recurses by
/// this at every level of the arguments.
const MAX_IN_PLACE_LEVELS: usize = 16;
/// Visits of schemas that hold for one and the same value: doubled alternatives double this.
const MAX_IN_PLACE_VISITS: u64 = 16_384;

/// Keywords that constrain no value.
const ANNOTATIONS: [&str; 8] = [
    "title",
    "description",
    "default",
    "examples",
    "$comment",
    "readOnly",
    "writeOnly",
    "deprecated",
];

/// Schemas that hold for one value, each with how often the validator visits it.
pub(super) type Holding = BTreeMap<usize, u64>;

/// A schema as a graph.
#[derive(Debug)]
pub(super) struct Shape {
    parts: Vec<Part>,
    /// For each part, itself and all parts that hold for the same value.
    holding: Vec<Holding>,
}

/// One schema inside of a schema: where its children hold.
#[derive(Debug, Default)]
pub(super) struct Part {
    in_place: Vec<usize>,
    /// Children by key, if the schema names keys at all.
    pub(super) properties: Option<HashMap<String, usize>>,
    /// The keys that the schema requires.
    pub(super) required: Vec<String>,
    /// Whether this part by itself, without the others that hold for the value, allows null.
    pub(super) lets_null_pass: bool,
    /// Whether it requires a whole number.
    pub(super) is_integer: bool,
    /// Whether it requires a number, an integer or not.
    pub(super) is_number: bool,
    /// Whether it allows, forbids or describes keys that it does not name.
    pub(super) minds_other_keys: bool,
    pub(super) other_keys: Vec<usize>,
    pub(super) key_names: Vec<usize>,
    pub(super) first_items: Vec<usize>,
    pub(super) other_items: Vec<usize>,
    pub(super) all_items: Vec<usize>,
}

impl Shape {
    /// Builds the shape of a schema, or returns why it is refused.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if is_deeper(schema, MAX_LEVELS) {
            return Err(too_deep());
        }
        let mut builder =
            Builder { root: schema, seen: HashMap::new(), parts: Vec::new(), heights: Vec::new() };
        builder.visit(schema, 1)?;
        let holding = holding_of(&builder.parts)?;
        Ok(Self { parts: builder.parts, holding })
    }

    pub(super) fn part(&self, index: usize) -> &Part {
        &self.parts[index]
    }

    /// Returns the parts that hold for the arguments themselves.
    pub(super) fn holding_at_root(&self) -> &Holding {
        &self.holding[0]
    }

    /// Returns the parts that hold for a child, from the schemas for it in each part that holds for
    /// its parent.
    pub(super) fn holding_for<'a>(
        &self,
        children: impl Iterator<Item = (&'a usize, u64)>,
    ) -> Holding {
        let mut all = Holding::new();
        for (child, times) in children {
            for (part, visits) in &self.holding[*child] {
                let sum = all.entry(*part).or_default();
                *sum = visits.saturating_mul(times).saturating_add(*sum);
            }
        }
        all
    }
}

fn too_deep() -> String {
    format!("it is nested deeper than {MAX_LEVELS} levels")
}

struct Builder<'a> {
    root: &'a Value,
    /// The parts by address: a schema that two references reach is one part.
    seen: HashMap<*const Value, usize>,
    parts: Vec<Part>,
    /// Schemas on the longest path downwards; 0 while a part is being visited.
    heights: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn visit(&mut self, schema: &'a Value, level: usize) -> Result<usize, String> {
        if let Some(&index) = self.seen.get(&std::ptr::from_ref(schema)) {
            return if level + self.heights[index] > MAX_LEVELS {
                Err(too_deep())
            } else {
                Ok(index)
            };
        }
        if level > MAX_LEVELS {
            return Err(too_deep());
        }
        let index = self.parts.len();
        if index == MAX_SCHEMAS {
            return Err(format!("it has more than {MAX_SCHEMAS} parts"));
        }
        self.seen.insert(schema, index);
        self.parts.push(Part::default());
        self.heights.push(0);
        let part = match schema {
            Value::Object(keywords) => self.read(keywords, level, index == 0)?,
            Value::Bool(allows) => Part { minds_other_keys: *allows, ..Part::default() },
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err("a part of it is neither an object nor a boolean".to_owned());
            }
        };
        let children = part.children().map(|child| self.heights[child]).max();
        self.heights[index] = 1 + children.unwrap_or(0);
        self.parts[index] = part;
        Ok(index)
    }

    fn read(
        &mut self,
        keywords: &'a Map<String, Value>,
        level: usize,
        is_root: bool,
    ) -> Result<Part, String> {
        if let Some(reference) = keywords.get("$ref") {
            let target = self.resolve(reference)?;
            return Ok(Part { in_place: vec![self.visit(target, level + 1)?], ..Part::default() });
        }
        if !is_root && keywords.contains_key("$id") {
            return Err("a part of it has an $id of its own".to_owned());
        }
        let minds_other_keys = ["additionalProperties", "patternProperties", "propertyNames"]
            .iter()
            .any(|keyword| keywords.contains_key(*keyword))
            || (!is_root && allows_any_object(keywords));
        let mut part = Part {
            minds_other_keys,
            lets_null_pass: lets_null_pass(keywords),
            is_integer: names_type(keywords, "integer"),
            is_number: names_type(keywords, "number"),
            ..Part::default()
        };
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    self.visit_all(schemas, level, &mut part.in_place)?;
                }
                ("not" | "if" | "then" | "else", schema) => {
                    part.in_place.push(self.visit(schema, level + 1)?)
                }
                ("dependencies", Value::Object(entries)) => {
                    let schemas = entries.values().filter(|entry| !entry.is_array());
                    self.visit_all(schemas, level, &mut part.in_place)?;
                }
                ("properties", Value::Object(entries)) => {
                    let mut properties = HashMap::with_capacity(entries.len());
                    for (key, schema) in entries {
                        properties.insert(key.clone(), self.visit(schema, level + 1)?);
                    }
                    part.properties = Some(properties);
                }
                ("required", Value::Array(keys)) => {
                    let keys = keys.iter().filter_map(Value::as_str);
                    part.required.extend(keys.map(str::to_owned));
                }
                ("additionalProperties", schema) => {
                    part.other_keys.push(self.visit(schema, level + 1)?)
                }
                ("patternProperties", Value::Object(entries)) => {
                    self.visit_all(entries.values(), level, &mut part.other_keys)?;
                }
                ("propertyNames", schema) => part.key_names.push(self.visit(schema, level + 1)?),
                ("items", Value::Array(schemas)) => {
                    self.visit_all(schemas, level, &mut part.first_items)?
                }
                ("items", schema) => part.all_items.push(self.visit(schema, level + 1)?),
                ("additionalItems", schema) => {
                    part.other_items.push(self.visit(schema, level + 1)?)
                }
                ("contains", schema) => part.all_items.push(self.visit(schema, level + 1)?),
                _ => {}
            }
        }
        Ok(part)
    }

    fn visit_all(
        &mut self,
        schemas: impl IntoIterator<Item = &'a Value>,
        level: usize,
        into: &mut Vec<usize>,
    ) -> Result<(), String> {
        for schema in schemas {
            into.push(self.visit(schema, level + 1)?);
        }
        Ok(())
    }

    /// Follows a reference inside the schema. Other references are refused, so that no document is
    /// ever fetched.
    fn resolve(&self, reference: &Value) -> Result<&'a Value, String> {
        let outside =
            || format!("the $ref {reference} does not lead to a part of it (\"#\" or \"#/...\")");
        let pointer =
            reference.as_str().and_then(|text| text.strip_prefix('#')).ok_or_else(outside)?;
        if pointer.contains('%') {
            return Err(outside());
        }
        self.root.pointer(pointer).ok_or_else(outside)
    }
}

impl Part {
    fn children(&self) -> impl Iterator<Item = usize> {
        let named = self.properties.iter().flat_map(|properties| properties.values());
        [
            &self.in_place,
            &self.other_keys,
            &self.key_names,
            &self.first_items,
            &self.other_items,
            &self.all_items,
        ]
        .into_iter()
        .flatten()
        .chain(named)
        .copied()
    }
}

fn names_type(keywords: &Map<String, Value>, name: &str) -> bool {
    match keywords.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

/// Returns whether null passes this part by itself. A part that leaves it to its own parts
/// (alternatives, a reference) lets nothing pass. If it is unclear, null passes, and the validator
/// decides.
fn lets_null_pass(keywords: &Map<String, Value>) -> bool {
    if keywords.contains_key("type") {
        return names_type(keywords, "null");
    }
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(value), _) => value.is_null(),
        (None, Some(values)) => {
            values.as_array().is_some_and(|values| values.contains(&Value::Null))
        }
        (None, None) => !["anyOf", "oneOf", "allOf"].iter().any(|key| keywords.contains_key(*key)),
    }
}

fn allows_any_object(keywords: &Map<String, Value>) -> bool {
    let is_silent = keywords.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str()));
    is_silent || (names_type(keywords, "object") && !keywords.contains_key("properties"))
}

/// Finds, for each part, the others that hold for the same value. Refuses too many of them, and
/// endless references.
fn holding_of(parts: &[Part]) -> Result<Vec<Holding>, String> {
    let mut done: Vec<Option<(Holding, usize)>> = parts.iter().map(|_| None).collect();
    let mut open = vec![false; parts.len()];
    for start in 0..parts.len() {
        close(parts, start, &mut open, &mut done)?;
    }
    Ok(done
        .into_iter()
        .map(|entry| entry.map_or_else(Holding::new, |(holding, _)| holding))
        .collect())
}

fn close(
    parts: &[Part],
    index: usize,
    open: &mut [bool],
    done: &mut [Option<(Holding, usize)>],
) -> Result<(), String> {
    if done[index].is_some() {
        return Ok(());
    }
    if open[index] {
        return Err("a part of it refers to itself without a step into the value".to_owned());
    }
    open[index] = true;
    let mut holding = Holding::from([(index, 1)]);
    let mut levels = 1;
    for &child in &parts[index].in_place {
        close(parts, child, open, done)?;
        let Some((below, height)) = &done[child] else { continue };
        levels = levels.max(height + 1);
        for (part, visits) in below {
            let sum = holding.entry(*part).or_default();
            *sum = visits.saturating_add(*sum);
        }
    }
    open[index] = false;
    if levels > MAX_IN_PLACE_LEVELS {
        return Err(format!(
            "more than {MAX_IN_PLACE_LEVELS} alternatives or references lie in each other"
        ));
    }
    if holding.values().fold(0, |sum: u64, visits| sum.saturating_add(*visits))
        > MAX_IN_PLACE_VISITS
    {
        return Err(format!("more than {MAX_IN_PLACE_VISITS} parts of it hold for one value"));
    }
    done[index] = Some((holding, levels));
    Ok(())
}
