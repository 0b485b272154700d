//! Reads JSON that a person types; a repeated name is an error, and does not silently win.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// Reads JSON in which each object has each name once.
pub(super) fn read(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<Unrepeated>(text)?;
    serde_json::from_str(text)
}

/// Any JSON, of which only the names are checked.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Unrepeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unrepeated, A::Error> {
        let mut names = HashSet::new();
        while let Some((name, Unrepeated)) = map.next_entry::<String, Unrepeated>()? {
            if names.contains(&name) {
                return Err(A::Error::custom("a name is there twice"));
            }
            names.insert(name);
        }
        Ok(Unrepeated)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unrepeated, A::Error> {
        while let Some(Unrepeated) = items.next_element()? {}
        Ok(Unrepeated)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_unit<E>(self) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_name_that_is_there_twice_is_refused_at_every_level() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#, "{", "", "{} {}"] {
            assert!(read(text).is_err(), "{text}");
        }
        for text in [r#"{"a":{"a":[1,-2,0.5,"x",true,null]},"b":{"a":1}}"#, "[]", "1"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }
}
