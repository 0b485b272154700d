//! Reads a tool call as a model wrote it, as far as possible, so that the error can name what is
//! wrong.
//!
//! [`CallForm`] is the form of a family: JSON objects (`json`), Gemma's `braces`, Python
//! (`python`), the family's own texts around the arguments (`marks`), or each argument between
//! `tags`. By the rules of the form, `scan` finds the end of a call while text still arrives.
//! `read` then takes the name and the arguments out of the call:
//!
//! ```text
//! call:save{title:<|"|>Plan<|"|>}   gives   save, {"title":"Plan"}
//! ```
//!
//! `write` writes an earlier call, for templates that write none.
//!
//! Invariants:
//! - A call without a name is malformed, and so is a call between tags without its end.
//! - Arguments become JSON if they can be read. Broken ones stay as the model wrote them, and the
//!   dispatcher reports them. No reader repairs or guesses a value.
//! - No input panics or overflows the stack, however deep it is nested.

pub mod braces;
mod items;
pub mod json;
mod kinds;
mod marks;
pub mod python;
mod scan;
mod tags;

use madang_actors::protocol::{ToolSpec, WantedCall};
use serde_json::Value;

pub use items::Items;
pub use kinds::Kinds;
pub use marks::Marks;
pub use tags::Tags;

pub(crate) use scan::{Scan, Seen, held};

use json::member;
use scan::{ScanRules, TagRules};

/// A call that names no tool, or that is not in the form of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The form in which a family writes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// `{"name": "NAME", "arguments": {..}}`.
    Object {
        /// The key of the outer object around it, if any.
        within: Option<&'static str>,
        /// The key of the arguments.
        arguments: &'static str,
    },
    /// `[{"name": "NAME", "arguments": {..}}]`, with the keys of the family.
    Objects(&'static Items),
    /// `NAME` and the arguments as JSON, between texts of the family.
    Marked(&'static Marks),
    /// `NAME`, and each key and value between tags of the family.
    Tagged(&'static Tags),
    /// `call:NAME{key:value}`, with strings between two of this mark.
    Braces(&'static str),
    /// `[NAME(key=value)]`.
    Python,
}

impl CallForm {
    /// Begins to look for the ends of calls. Each of the texts in `ends` ends a block.
    pub(crate) fn scan(self, ends: &'static [&'static str]) -> Scan {
        match self {
            Self::Tagged(tags) => Scan::tags(tags.rules(ends)),
            Self::Object { .. }
            | Self::Objects(_)
            | Self::Marked(_)
            | Self::Braces(_)
            | Self::Python => Scan::brackets(self.rules(ends)),
        }
    }

    fn rules(self, ends: &'static [&'static str]) -> ScanRules {
        let json = ScanRules {
            quotes: ["\"", "\""],
            has_escapes: true,
            opening: &['{', '['],
            closing: &['}', ']'],
            is_list: false,
            is_several: false,
            ends,
        };
        match self {
            Self::Object { .. } | Self::Tagged(_) => json,
            Self::Objects(_) => ScanRules { is_list: true, ..json },
            // The texts of the family contain square brackets.
            Self::Marked(marks) => ScanRules {
                opening: &['{'],
                closing: &['}'],
                is_several: marks.separator.is_some(),
                ..json
            },
            Self::Braces(quote) => ScanRules { quotes: [quote, quote], has_escapes: false, ..json },
            Self::Python => ScanRules {
                quotes: ["\"", "'"],
                opening: &['{', '[', '('],
                closing: &['}', ']', ')'],
                is_list: true,
                ..json
            },
        }
    }

    /// Reads a call, with the separator before it. Arguments become JSON if possible, and otherwise
    /// keep the model's text. The schemas in `tools` say which kind a value between tags has.
    /// Returns [`Malformed`] if the call names no tool or is not in this form.
    pub(crate) fn read(self, call: &str, tools: &[ToolSpec]) -> Result<WantedCall, Malformed> {
        let is_list = self.rules(&[]).is_list;
        let call = if is_list { call.trim_start_matches(is_separator) } else { call.trim() };
        match self {
            Self::Object { within: Some(outer), .. } => {
                object(member(call, outer).ok_or(Malformed)?)
            }
            Self::Object { within: None, .. } => object(call),
            Self::Objects(items) => items.read(call),
            Self::Python if call.starts_with('{') => object(call),
            Self::Marked(marks) => marks.read(call),
            Self::Tagged(tags) => tags.read(call, tools),
            Self::Braces(quote) => {
                let call = call.strip_prefix("call:").ok_or(Malformed)?;
                let begin = call.find('{').unwrap_or(call.len());
                let (name, arguments) = call.split_at(begin);
                let arguments = if arguments.is_empty() { "{}" } else { arguments };
                let json = braces::to_json(arguments, quote);
                wanted(name, json.unwrap_or_else(|| arguments.to_owned()))
            }
            Self::Python => {
                let (name, arguments) = call.split_at(call.find('(').unwrap_or(call.len()));
                let arguments = if arguments.is_empty() { "()" } else { arguments };
                let json = python::to_json(arguments);
                wanted(name, json.unwrap_or_else(|| arguments.to_owned()))
            }
        }
    }

    /// Writes a call as the model would, for templates that write none. `arguments` is JSON, unless
    /// the model wrote it broken.
    pub fn write(self, name: &str, arguments: &str) -> String {
        let quoted = Value::from(name);
        match self {
            Self::Object { within: Some(outer), arguments: key } => {
                format!(r#"{{"{outer}": {{"name": {quoted}, "{key}": {arguments}}}}}"#)
            }
            Self::Object { within: None, arguments: key } => {
                format!(r#"{{"name": {quoted}, "{key}": {arguments}}}"#)
            }
            Self::Objects(items) => items.write(name, arguments),
            Self::Marked(marks) => marks.write(name, arguments),
            Self::Tagged(tags) => tags.write(name, arguments),
            Self::Braces(quote) => {
                let value = serde_json::from_str::<Value>(arguments).ok();
                let written = value.and_then(|value| braces::literal(&value, quote));
                format!("call:{name}{}", written.unwrap_or_else(|| arguments.to_owned()))
            }
            Self::Python => format!("[{name}({})]", python::keywords(arguments)),
        }
    }
}

impl CallForm {
    /// Returns whether `rest`, what follows the last whole call of a block, begins another call.
    pub(crate) fn has_begun(self, rest: &str) -> bool {
        match self {
            Self::Marked(marks) => marks.has_begun(rest),
            Self::Tagged(_) => !rest.trim().is_empty(),
            Self::Object { .. } | Self::Objects(_) | Self::Braces(_) | Self::Python => {
                !rest.trim_matches([' ', '\n', ',', ']']).is_empty()
            }
        }
    }

    /// Returns the text between two calls of a block. Returns `None` if a block is one call, or a
    /// list in brackets.
    pub fn separator(self) -> Option<&'static str> {
        match self {
            Self::Marked(marks) => marks.separator,
            Self::Tagged(tags) => tags.separator,
            Self::Object { .. } | Self::Objects(_) | Self::Braces(_) | Self::Python => None,
        }
    }

    /// Lists the texts that a model writes inside a call, apart from those of JSON and Python.
    pub(crate) fn texts(self) -> Vec<&'static str> {
        match self {
            Self::Marked(marks) => marks.texts().collect(),
            Self::Tagged(tags) => tags.texts().collect(),
            Self::Braces(quote) => vec![quote],
            Self::Object { .. } | Self::Objects(_) | Self::Python => Vec::new(),
        }
    }
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '[' | ',')
}

/// Reads an object that has a name and arguments.
fn object(call: &str) -> Result<WantedCall, Malformed> {
    of_members(member(call, "name"), call)
}

/// Reads the arguments of an object. `name` is its name as JSON.
fn of_members(name: Option<&str>, call: &str) -> Result<WantedCall, Malformed> {
    let name: String = name.and_then(|name| serde_json::from_str(name).ok()).ok_or(Malformed)?;
    let arguments =
        member(call, "arguments").or_else(|| member(call, "parameters")).unwrap_or("{}");
    // Some models write the arguments as a string that holds JSON.
    let arguments =
        serde_json::from_str::<String>(arguments).unwrap_or_else(|_| arguments.to_owned());
    Ok(WantedCall::new(name, arguments))
}

fn wanted(name: &str, arguments: String) -> Result<WantedCall, Malformed> {
    let name = name.trim();
    let is_name = !name.is_empty()
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'));
    if !is_name {
        return Err(Malformed);
    }
    Ok(WantedCall::new(name, arguments))
}

#[cfg(test)]
mod tests;
