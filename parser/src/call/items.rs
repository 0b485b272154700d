//! Reads and writes the objects in a list of calls: their keys, and the texts around them.

use madang_actors::protocol::WantedCall;
use serde_json::Value;

use super::{
    Malformed,
    json::{first_member, member},
    of_members,
};

/// The form of a family's list.
#[derive(Debug, PartialEq, Eq)]
pub struct Items {
    /// The text before the first object, and after the last.
    pub around: [&'static str; 2],
    /// The text between two objects. `None` if it is the comma of the usual notation.
    pub separator: Option<&'static str>,
    /// The key of the number that comes first, if there is one.
    pub(crate) id: Option<&'static str>,
    /// The key of the name. `None` if the name itself is the key of the arguments.
    pub(crate) name: Option<&'static str>,
    /// The key of the arguments.
    pub(crate) arguments: &'static str,
}

impl Items {
    /// The usual list: `[{"name": "NAME", "arguments": {..}}]`.
    pub const USUAL: Self = Self {
        around: ["[", "]"],
        separator: None,
        id: None,
        name: Some("name"),
        arguments: "arguments",
    };

    /// Reads one object. Returns [`Malformed`] if it names no tool.
    pub(super) fn read(&self, call: &str) -> Result<WantedCall, Malformed> {
        match self.name {
            Some(key) => {
                // Some models write the call as the API of OpenAI does.
                let inner = member(call, "function").filter(|inner| inner.starts_with('{'));
                let call = inner.unwrap_or(call);
                of_members(member(call, key).or_else(|| member(call, "name")), call)
            }
            None => {
                let (name, arguments) = first_member(call).ok_or(Malformed)?;
                let name = serde_json::from_str::<String>(name).map_err(|_| Malformed)?;
                let is_call = !name.is_empty() && arguments.starts_with('{');
                if is_call { Ok(WantedCall::new(name, arguments)) } else { Err(Malformed) }
            }
        }
    }

    /// Writes a list with this one call.
    pub(super) fn write(&self, name: &str, arguments: &str) -> String {
        let [open, close] = self.around;
        let name = Value::from(name);
        let id = self.id.map_or_else(String::new, |id| format!("\"{id}\": \"0\", "));
        match self.name {
            Some(key) => {
                let head = format!("{{{id}\"{key}\": {name}, \"{}\": ", self.arguments);
                format!("{open}{head}{arguments}}}{close}")
            }
            None => format!("{open}{{{name}: {arguments}}}{close}"),
        }
    }

    /// Returns the text before the number and the text from there to the arguments. The first is
    /// `None` if the form has no number. `blank` follows each colon and comma.
    pub fn head(&self, name: &str, blank: &str) -> (Option<String>, String) {
        match (self.name, self.id) {
            (None, _) => (None, format!("{{\"{name}\":{blank}")),
            (Some(key), None) => (None, format!("{{{}", self.keys(key, name, blank))),
            (Some(key), Some(id)) => {
                let keys = format!("\",{blank}{}", self.keys(key, name, blank));
                (Some(format!("{{\"{id}\":{blank}\"")), keys)
            }
        }
    }

    fn keys(&self, key: &str, name: &str, blank: &str) -> String {
        format!("\"{key}\":{blank}\"{name}\",{blank}\"{}\":{blank}", self.arguments)
    }
}
