//! A JSON value that stays text. Only what is asked of it is read, and the rest costs no memory.
//!
//! Clients send their whole history with each request, and one message of it counts. A tree of such
//! a body would take many times its bytes.

use serde::{Deserialize, de::IgnoredAny};

/// A value of a body that is known to be JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Takes a text that is JSON, of any depth.
    ///
    /// # Errors
    /// Returns the position at which the text is not JSON.
    pub(crate) fn new(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<IgnoredAny>(json)?;
        Ok(Self(json.trim_ascii()))
    }

    /// Returns the number of its bytes.
    pub(crate) const fn len(self) -> usize {
        self.0.len()
    }

    /// Reads it as this type. Returns `None` if it is of another type.
    pub(crate) fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0).ok()
    }

    /// Reads a member as this type. Returns `None` if there is none, or if it is of another type.
    pub(crate) fn read_member<T: Deserialize<'a>>(self, key: &str) -> Option<T> {
        self.member(key)?.read()
    }

    /// Returns a member. Returns `None` if it is null or missing, or if this is not an object. If
    /// two members have one key, the last counts, as everywhere in JSON.
    pub(crate) fn member(self, key: &str) -> Option<Self> {
        let members = self.0.starts_with('{').then(|| Items::of(self.0))?;
        let mut found = None;
        for (name, value) in members.keyed() {
            if serde_json::from_str::<String>(name).is_ok_and(|name| name == key) {
                found = Some(value);
            }
        }
        found.filter(|value| value.0 != "null")
    }

    /// Returns the elements in order, or `None` if this is not an array.
    pub(crate) fn elements(self) -> Option<impl Iterator<Item = Self>> {
        self.0.starts_with('[').then(|| Items::of(self.0))
    }
}

/// The items between the brackets of an object or array, each up to its comma or colon.
struct Items<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Items<'a> {
    const fn of(json: &'a str) -> Self {
        Self { json, at: 1 }
    }

    /// Returns the keys with their values.
    fn keyed(mut self) -> impl Iterator<Item = (&'a str, Raw<'a>)> {
        std::iter::from_fn(move || Some((self.next()?.0, self.next()?)))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let bytes = self.json.as_bytes();
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b':');
        self.at += bytes[self.at..].iter().take_while(|byte| is_between(byte)).count();
        if matches!(bytes.get(self.at), None | Some(b']' | b'}')) {
            return None;
        }
        let rest = &self.json[self.at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (value, _) = rest.split_at(values.byte_offset());
        self.at += value.len();
        Some(Raw(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_and_elements_are_those_that_a_parser_finds() {
        let text = r#" { "a" : [ 1 , "x]}\"," , { "b":[ ] } , null,true,-1.5e3 ] ,"\u0062":{"c":"d"}, "n":null, "a2":7 } "#;
        let raw = Raw::new(text).unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        let elements: Vec<Value> =
            raw.member("a").unwrap().elements().unwrap().map(|raw| raw.read().unwrap()).collect();
        assert_eq!(json!(elements), value["a"]);
        assert_eq!(raw.read_member::<Value>("b"), Some(json!({ "c": "d" })));
        assert_eq!(raw.read_member::<u8>("a2"), Some(7));
        assert_eq!(raw.read_member::<String>("a2"), None);
        for missing in ["n", "c", ""] {
            assert_eq!(raw.member(missing), None);
        }
        assert!(raw.elements().is_none());
        assert_eq!(Raw::new("[]").unwrap().elements().unwrap().count(), 0);
        assert_eq!(Raw::new("[]").unwrap().member("a"), None);
        assert_eq!(Raw::new(r#"{"a":1,"a":2}"#).unwrap().read_member::<u8>("a"), Some(2));
    }

    #[test]
    fn depth_costs_no_stack_and_what_is_no_json_is_refused() {
        let deep = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Raw::new(&deep).unwrap().read_member::<u8>("b"), Some(1));
        assert_eq!(Raw::new(&deep).unwrap().read_member::<Value>("a"), None);
        for broken in ["", "{", "{\"a\":}", "[1,]", "{} {}", "\"\u{1}\""] {
            assert!(Raw::new(broken).is_err(), "{broken:?}");
        }
    }
}
