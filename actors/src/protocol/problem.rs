//! The problems of a call's arguments: a pointer and the rule, never the value.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// A problem with a call's arguments. It names a pointer and the rule, so that the model can mend
/// the call. It never repeats the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// A JSON Pointer into the arguments. It is empty if the problem is with all of them.
    pub pointer: String,
    /// The rule that is broken there.
    pub breach: Breach,
}

impl Problem {
    /// Makes a problem with the arguments in general.
    #[must_use]
    pub fn of_whole(breach: Breach) -> Self {
        Self { pointer: String::new(), breach }
    }
}

/// A rule that arguments break.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Breach {
    /// The text of the arguments is too long to be read.
    TooLong {
        /// The bound in bytes.
        max_bytes: usize,
    },
    /// Lists and objects lie too deep in each other.
    TooDeep {
        /// The bound in levels.
        max_levels: usize,
    },
    /// The check would take too long: too many parts, each with too many alternatives.
    TooComplex,
    /// The text is not valid JSON.
    NotJson {
        /// The line where reading stopped.
        line: usize,
        /// The column where reading stopped.
        column: usize,
    },
    /// A whole number has more digits than 64 bits hold, and would be rounded.
    TooManyDigits,
    /// The arguments are valid JSON, but not an object.
    NotAnObject,
    /// A required value is missing.
    Missing,
    /// There are keys that the schema forbids.
    Unknown(Vec<String>),
    /// The value must be of one of these JSON types.
    Type(Vec<String>),
    /// The value must be one of these.
    OneOf(Vec<Value>),
    /// The number must be at least this.
    AtLeast(Number),
    /// The number must be at most this.
    AtMost(Number),
    /// The number must be greater than this.
    Above(Number),
    /// The number must be less than this.
    Below(Number),
    /// The number must be a multiple of this.
    MultipleOf(f64),
    /// The text has fewer characters than this.
    MinLength(u64),
    /// The text has more characters than this.
    MaxLength(u64),
    /// The list has fewer items than this.
    MinItems(u64),
    /// The list has more items than this.
    MaxItems(u64),
    /// The object has fewer keys than this.
    MinProperties(u64),
    /// The object has more keys than this.
    MaxProperties(u64),
    /// The text does not match this regular expression.
    Pattern(String),
    /// The text is not of this format, e.g. `date`.
    Format(String),
    /// The list has equal items.
    NotUnique,
    /// The list has no item of the kind that one must be of.
    NoSuchItem,
    /// The name of a key breaks its rule.
    KeyName,
    /// No value is allowed here.
    NotAllowed,
    /// The value fits none of the allowed forms.
    NoForm,
    /// The value fits more than one of the allowed forms.
    SeveralForms,
    /// The value fits the schema, but not the type of the handler's arguments.
    Misfit {
        /// The form that the type expects, if it says so.
        expected: Option<Cow<'static, str>>,
    },
}
