//! What is wrong with the arguments of a call, and where: never what was given there.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// One thing that is wrong with a call's arguments. It names the place and what is asked for there, so that the model
/// can mend the call; the value itself is kept out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// A JSON Pointer into the arguments; empty for the arguments as a whole.
    pub place: String,
    /// What is asked for there and not given.
    pub breach: Breach,
}

impl Problem {
    /// A problem with the arguments as a whole.
    #[must_use]
    pub fn of_whole(breach: Breach) -> Self {
        Self { place: String::new(), breach }
    }
}

/// Which condition on the arguments is broken.
#[derive(Debug, Clone, PartialEq)]
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
    /// Checking them would take too long: too many parts, each with too many alternatives.
    TooComplex,
    /// The text is not valid JSON.
    NotJson {
        /// The line where reading stopped.
        line: usize,
        /// The column where reading stopped.
        column: usize,
    },
    /// The arguments are valid JSON, but no object.
    NotAnObject,
    /// Something required is not there.
    Missing,
    /// There are keys that the schema forbids.
    Unknown(Vec<String>),
    /// It must be of one of these JSON types.
    Type(Vec<String>),
    /// It must be one of these values.
    OneOf(Vec<Value>),
    /// It must be at least this.
    AtLeast(Number),
    /// It must be at most this.
    AtMost(Number),
    /// It must be greater than this.
    Above(Number),
    /// It must be less than this.
    Below(Number),
    /// It must be a multiple of this.
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
    /// A key's name is not as it must be.
    KeyName,
    /// Nothing like this is allowed here.
    NotAllowed,
    /// It fits none of the allowed forms.
    NoForm,
    /// It fits more than one of the allowed forms.
    SeveralForms,
    /// It fits the schema, but not the type behind it.
    Misfit {
        /// What the type expects, where it says so.
        expected: Option<Cow<'static, str>>,
    },
}
