//! Reads and writes calls whose arguments are written between tags, each after its key.

use madang_actors::protocol::{ToolSpec, WantedCall};
use serde_json::Value;

use super::{Malformed, TagRules, json, kinds::Kinds, wanted};

/// The texts of a family around the name, the keys and the values. We write the blanks at their
/// ends. In a call that is read, blanks may be missing or added there.
#[derive(Debug, PartialEq, Eq)]
pub struct Tags {
    /// The text before the name.
    pub before: &'static str,
    /// The text after the name.
    pub named: &'static str,
    /// The text before a key.
    pub key: &'static str,
    /// The text after a key.
    pub keyed: &'static str,
    /// The texts before a value: before a text, and before any other value. If they are the same,
    /// the schema says which it is.
    pub value: [&'static str; 2],
    /// The text after a value.
    pub end: &'static str,
    /// The text that ends the call.
    pub after: &'static str,
    /// The text between two calls of one block. `None` if a block is one call.
    pub(crate) separator: Option<&'static str>,
    /// The marks that may surround a text without being part of it.
    pub quotes: Option<[&'static str; 2]>,
}

impl Tags {
    /// Reads a whole call. Returns [`Malformed`] if it has no end, because the model may have meant
    /// more arguments.
    pub(super) fn read(&self, call: &str, tools: &[ToolSpec]) -> Result<WantedCall, Malformed> {
        let [before, named, key, keyed, end, after] =
            [self.before, self.named, self.key, self.keyed, self.end, self.after].map(str::trim);
        let (_, call) = call.split_once(before).ok_or(Malformed)?;
        let ends = [named, key, after].into_iter().filter(|end| !end.is_empty());
        let name_len = ends.filter_map(|end| call.find(end)).min().ok_or(Malformed)?;
        let (name, mut rest) = call.split_at(name_len);
        rest = rest.strip_prefix(named).unwrap_or(rest).trim_start();
        let tool = tools.iter().find(|tool| *tool.name == *name.trim());
        let mut members = Vec::new();
        while let Some(pair) = rest.strip_prefix(key) {
            let (pair, behind) = pair.split_once(end).ok_or(Malformed)?;
            let (key, value) = pair.split_once(keyed).ok_or(Malformed)?;
            let key = key.trim();
            let value = self.read_value(value, Kinds::of_argument(tool, key))?;
            members.push(format!("{}:{value}", Value::from(key)));
            rest = behind.trim_start();
        }
        if !rest.starts_with(after) {
            return Err(Malformed);
        }
        wanted(name, format!("{{{}}}", members.join(",")))
    }

    /// Reads what is between a key and the end of its value, and returns it as JSON.
    fn read_value(&self, value: &str, kinds: Kinds) -> Result<String, Malformed> {
        let [text, other] = self.value.map(str::trim);
        let (value, mark, kinds) = if self.is_typed() {
            let value = value.trim_start();
            match (value.strip_prefix(text), value.strip_prefix(other)) {
                (Some(value), _) => (value, self.value[0], Kinds::TEXT),
                (None, Some(value)) => (value, self.value[1], kinds),
                (None, None) => return Err(Malformed),
            }
        } else if text.is_empty() {
            (value, self.keyed, kinds)
        } else {
            let value = value.trim_start().strip_prefix(text).ok_or(Malformed)?;
            (value, self.value[0], kinds)
        };
        // A line break that belongs to the tags is not part of the value.
        let value =
            if mark.ends_with('\n') { value.strip_prefix('\n').unwrap_or(value) } else { value };
        let has_line = self.end.starts_with('\n');
        let value = if has_line { value.strip_suffix('\n').unwrap_or(value) } else { value };
        Ok(match self.quoted(value) {
            Some(text) if kinds.has(Kinds::TEXT) => Value::from(text).to_string(),
            Some(other) => kinds.read(other),
            None => kinds.read(value),
        })
    }

    /// Returns the text between its marks. Returns `None` if it has none.
    fn quoted<'v>(&self, value: &'v str) -> Option<&'v str> {
        let [open, close] = self.quotes?;
        value.strip_prefix(open)?.strip_suffix(close)
    }

    /// Returns the rules that find the ends of calls. Each of the texts in `ends` ends a block.
    pub(super) fn rules(&self, ends: &'static [&'static str]) -> TagRules {
        let [key, end, after] = [self.key, self.end, self.after].map(str::trim);
        TagRules { key, end, after, is_several: self.separator.is_some(), ends }
    }

    /// Returns whether the text before a value says that it is a text.
    pub fn is_typed(&self) -> bool {
        self.value[0] != self.value[1]
    }

    /// Writes a call. It has no arguments if `arguments` is not a JSON object.
    pub(super) fn write(&self, name: &str, arguments: &str) -> String {
        let Self { before, named, key, keyed, value: marks, end, after, .. } = self;
        let mut call = format!("{before}{name}{named}");
        if let Ok(Value::Object(members)) = serde_json::from_str(arguments) {
            for (name, value) in members {
                let (mark, value) = match (value.as_str(), self.quotes) {
                    (Some(text), Some([open, close])) if text.contains(['<', '&', '\n']) => {
                        (marks[0], format!("{open}{text}{close}"))
                    }
                    (Some(text), _) => (marks[0], text.to_owned()),
                    (None, _) => (marks[1], json::write(&value, None)),
                };
                call.extend([key, &*name, keyed, mark, &value, end]);
            }
        }
        call + after
    }

    /// Lists the texts that a model writes inside a call.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'static str> {
        let Self { before, named, key, keyed, value: [text, other], end, after, .. } = *self;
        [before, named, key, keyed, text, other, end, after].into_iter()
    }
}
