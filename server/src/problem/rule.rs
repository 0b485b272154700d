//! Names the rules that an argument can break, so that programs can write their own sentences about
//! them.

use madang::tool::Breach;
use serde_json::{Value, json};

/// A rule that is broken: its name, and what else a sentence about it needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BrokenRule {
    /// The keyword of JSON Schema, or one of Madang's own names if JSON Schema has none.
    name: &'static str,
    member: Option<(&'static str, Value)>,
}

impl BrokenRule {
    /// Returns the rule of a breach, or `None` if it is of a later version.
    pub(super) fn of(breach: &Breach) -> Option<Self> {
        Some(match breach {
            Breach::TooLong { max_bytes } => Self::expects("maxBytes", max_bytes),
            Breach::TooDeep { max_levels } => Self::expects("maxDepth", max_levels),
            Breach::TooComplex => Self::named("maxComplexity"),
            Breach::NotJson { .. } => Self::named("json"),
            Breach::TooManyDigits => Self::named("maxDigits"),
            Breach::NotAnObject => Self::expects("type", ["object"]),
            Breach::Missing => Self::named("required"),
            Breach::Unknown(keys) => Self::with("additionalProperties", ("keys", json!(keys))),
            Breach::Type(types) => Self::expects("type", types),
            Breach::OneOf(values) => Self::expects("enum", values),
            Breach::AtLeast(bound) => Self::expects("minimum", bound),
            Breach::AtMost(bound) => Self::expects("maximum", bound),
            Breach::Above(bound) => Self::expects("exclusiveMinimum", bound),
            Breach::Below(bound) => Self::expects("exclusiveMaximum", bound),
            Breach::MultipleOf(factor) => Self::expects("multipleOf", factor),
            Breach::MinLength(bound) => Self::expects("minLength", bound),
            Breach::MaxLength(bound) => Self::expects("maxLength", bound),
            Breach::MinItems(bound) => Self::expects("minItems", bound),
            Breach::MaxItems(bound) => Self::expects("maxItems", bound),
            Breach::MinProperties(bound) => Self::expects("minProperties", bound),
            Breach::MaxProperties(bound) => Self::expects("maxProperties", bound),
            Breach::Pattern(pattern) => Self::expects("pattern", pattern),
            Breach::Format(format) => Self::expects("format", format),
            Breach::NotUnique => Self::named("uniqueItems"),
            Breach::NoSuchItem => Self::named("contains"),
            Breach::KeyName => Self::named("propertyNames"),
            Breach::NotAllowed => Self::named("not"),
            Breach::NoForm => Self::named("anyOf"),
            Breach::SeveralForms => Self::named("oneOf"),
            // What the type expects beyond its schema is said only in English.
            Breach::Misfit { .. } | _ => return None,
        })
    }

    fn named(name: &'static str) -> Self {
        Self { name, member: None }
    }

    fn expects(name: &'static str, expected: impl serde::Serialize) -> Self {
        Self::with(name, ("expected", json!(expected)))
    }

    fn with(name: &'static str, member: (&'static str, Value)) -> Self {
        Self { name, member: Some(member) }
    }

    /// Writes the rule into the body of its problem.
    pub(super) fn write(&self, body: &mut Value) {
        body["rule"] = self.name.into();
        if let Some((name, value)) = &self.member {
            body[name] = value.clone();
        }
    }
}
