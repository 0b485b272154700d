//! Writes the rules of arguments between tags, where a text is written as it is and anything else
//! as JSON.

use madang_parser::call::{Kinds, Tags};
use serde_json::{Map, Value};

use super::{
    any::ANY,
    keywords::{
        ANNOTATIONS, Rule, Unknown, check_keywords, choices, closed_properties, counts,
        no_alternatives, unknown, values,
    },
    notation::{DATE, lark_string, regex_of, repeated},
    schema::{Gap, MAX_DEPTH, SchemaRules},
};

/// A value between tags, while its rules are written.
struct TaggedValue {
    tags: &'static Tags,
    /// The kinds that the schema allows.
    kinds: Kinds,
    /// The rules for it. A value follows one of them.
    ways: Vec<String>,
    depth: usize,
}

impl SchemaRules<'_> {
    /// Writes the arguments of a call: the properties of the schema, in its order.
    pub(super) fn tagged(&mut self, tags: &'static Tags) -> Rule {
        let schema = self.root.as_object().ok_or_else(|| unknown("type"))?;
        check_keywords(schema)?;
        no_alternatives(schema)?;
        if let Some(properties) = closed_properties(schema)? {
            let pair = |rules: &mut Self, name: &str, step: &str, schema: &Value| {
                let is_key = !name.is_empty()
                    && name.trim() == name
                    && !name.contains(['<', '>', '"', '\n']);
                let key = is_key.then(|| format!("{}{name}{}", tags.key, tags.keyed));
                let key = key.ok_or_else(|| unknown("properties"))?;
                Ok(format!("{} {}", lark_string(&key), rules.tagged_value(tags, step, schema)))
            };
            let members = self.members(schema, properties, "", &pair)?;
            return Ok(self.rule(&members));
        }
        match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Ok(self.any_tagged(tags)),
            Some(others) => {
                let value = self.tagged_value(tags, "additionalProperties", others);
                Ok(self.tagged_pairs(tags, &value))
            }
        }
    }

    /// Writes any arguments.
    pub(super) fn any_tagged(&mut self, tags: &'static Tags) -> String {
        let value = self.any_tagged_value(tags, Kinds::of(&Value::Null, &Value::Null));
        self.tagged_pairs(tags, &value)
    }

    fn tagged_pairs(&mut self, tags: &'static Tags, value: &str) -> String {
        let key = self.terminal(&format!(
            "/{}[a-zA-Z_][a-zA-Z0-9_]*{}/",
            regex_of(tags.key),
            regex_of(tags.keyed)
        ));
        self.rule(&format!("({key} {value})*"))
    }

    /// Writes a value, with the text before it and the text that ends it.
    fn tagged_value(&mut self, tags: &'static Tags, step: &str, schema: &Value) -> String {
        self.nested(step, |rules| {
            let kinds = Kinds::of(rules.root, schema);
            let mut value = TaggedValue { tags, kinds, ways: Vec::new(), depth: MAX_DEPTH };
            match rules.tagged_ways(&mut value, schema) {
                Ok(()) => rules.rule(&value.ways.join(" | ")),
                Err(Unknown(keyword)) => {
                    rules.gaps.push(Gap { pointer: rules.pointer.clone(), keyword });
                    rules.any_tagged_value(tags, kinds)
                }
            }
        })
    }

    /// Writes any value of these kinds.
    fn any_tagged_value(&mut self, tags: &'static Tags, kinds: Kinds) -> String {
        let mut value = TaggedValue { tags, kinds, ways: Vec::new(), depth: 0 };
        if kinds.has(Kinds::TEXT) {
            let text = value.text(&repeated("(?s:.)", 0, None));
            value.ways.push(self.terminal(&text));
        }
        if tags.is_typed() || !kinds.has(Kinds::TEXT) {
            value.ways.push(value.json(ANY));
        }
        self.rule(&value.ways.join(" | "))
    }

    /// Adds the ways to write what this schema allows.
    fn tagged_ways(&mut self, value: &mut TaggedValue, schema: &Value) -> Result<(), Unknown> {
        let is_typed = value.tags.is_typed();
        if !value.kinds.has(Kinds::TEXT) {
            let rule = self.value(schema);
            value.ways.push(value.json(&rule));
            return Ok(());
        }
        value.depth = value.depth.checked_sub(1).ok_or_else(|| unknown("$ref"))?;
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(true) => &Map::new(),
            Value::Bool(false)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return Err(unknown("false"));
            }
        };
        let is_alone = |keyword: &str| {
            schema.keys().all(|key| key == keyword || ANNOTATIONS.contains(&&**key))
        };
        if let Some(reference) = schema.get("$ref") {
            let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
            let target =
                pointer.filter(|_| is_alone("$ref")).and_then(|pointer| self.root.pointer(pointer));
            return self.tagged_ways(value, target.ok_or_else(|| unknown("$ref"))?);
        }
        check_keywords(schema)?;
        if let Some(listed) = values(schema)? {
            return listed.iter().try_for_each(|listed| value.literal(self, listed));
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let Some(schemas) = schema.get(keyword) else { continue };
            let schemas = choices(keyword, schemas, is_alone(keyword))?;
            return schemas.iter().try_for_each(|schema| self.tagged_ways(value, schema));
        }
        let names = match schema.get("type") {
            Some(Value::String(single)) => vec![single.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) | None if is_alone("type") => {
                value.ways.push(self.any_tagged_value(value.tags, value.kinds));
                return Ok(());
            }
            Some(_) | None => return Err(unknown("type")),
        };
        for name in names {
            match name {
                "string" => {
                    // Without quotes, a text that looks like another value would be read as that
                    // value.
                    let is_told = is_typed || !value.kinds.has_others(Kinds::TEXT.or(Kinds::WORDS));
                    let text = self.tagged_text(value, schema)?;
                    value.ways.push(if is_told { text } else { return Err(unknown("type")) });
                }
                "null" => value.literal(self, &Value::Null)?,
                "boolean" => {
                    value.literal(self, &Value::Bool(true))?;
                    value.literal(self, &Value::Bool(false))?;
                }
                other => {
                    let rule = self.of_type(other, schema)?;
                    value.ways.push(value.json(&rule));
                }
            }
        }
        Ok(())
    }

    fn tagged_text(&mut self, value: &TaggedValue, schema: &Map<String, Value>) -> Rule {
        let (min, max) = counts(schema, "minLength", "maxLength")?;
        let texts = match schema.get("format").and_then(Value::as_str) {
            None if !schema.contains_key("format") => value.text(&repeated("(?s:.)", min, max)),
            Some("date") if min == 0 && max.is_none() => value.text(DATE),
            Some(_) | None => return Err(unknown("format")),
        };
        Ok(self.terminal(&texts))
    }
}

impl TaggedValue {
    /// Writes a text of this regular expression.
    fn text(&self, texts: &str) -> String {
        let [mark, end] = [self.tags.value[0], self.tags.end].map(regex_of);
        let tag = regex_of(self.tags.end.trim());
        let is_told = self.tags.is_typed()
            || !self.kinds.has(Kinds::WORDS)
            || self.kinds.has_others(Kinds::TEXT.or(Kinds::WORDS));
        let words = if is_told {
            String::new()
        } else {
            r" & ~/\s*(null|None|true|True|false|False)\s*/".to_owned()
        };
        let before = if mark.is_empty() { String::new() } else { format!("/{mark}/ ") };
        let untagged = format!("/{texts}/ & ~/(?s:.*){tag}(?s:.*)/");
        match self.tags.quotes.map(|quotes| quotes.map(regex_of)) {
            None => format!("{before}({untagged}{words}) /{end}/"),
            Some([open, close]) => format!(
                "{before}(({untagged}{words} & ~/{open}(?s:.*)/) /{end}/ | /{open}/ ({untagged}) /{close}{end}/)"
            ),
        }
    }

    /// Writes JSON by this rule.
    fn json(&self, rule: &str) -> String {
        let mark = self.tags.value[1];
        let mark = if mark.is_empty() { String::new() } else { lark_string(mark) };
        format!("{mark} {rule} {}", lark_string(self.tags.end))
    }

    /// Adds one value. Returns [`Unknown`] if a reader would take it for another one.
    fn literal(&mut self, rules: &SchemaRules<'_>, value: &Value) -> Result<(), Unknown> {
        let Tags { value: marks, end, .. } = self.tags;
        let Value::String(text) = value else {
            // The value and its end are one text, because the lexer could take the word alone for
            // the beginning of a text.
            let ways = rules.notation.literals(value).into_iter();
            self.ways.extend(ways.map(|way| lark_string(&format!("{}{way}{end}", marks[1]))));
            return Ok(());
        };
        let is_quoted = |[open, _]: [&str; 2]| text.starts_with(open);
        let is_read = (self.tags.is_typed() || self.kinds.reads_as_text(text))
            && !self.tags.quotes.is_some_and(is_quoted);
        let bare = is_read.then(|| format!("{}{text}{end}", marks[0]));
        let quoted = self.tags.quotes.map(|[open, close]| format!("{open}{text}{close}{end}"));
        if text.contains(self.tags.end.trim()) || (bare.is_none() && quoted.is_none()) {
            return Err(unknown("enum"));
        }
        self.ways.extend(bare.into_iter().chain(quoted).map(|way| lark_string(&way)));
        Ok(())
    }
}
