//! Derives the schema of a type that is one word of a closed list.

/// Gives a type with `ALL` and `as_str` the plain schema `{"type":"string","enum":[..]}`. The derive would make a
/// schema of each word's documentation, which costs a model tokens and tells it nothing.
macro_rules! schema_of_words {
    ($type:ty) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
            }
        }
    };
}
pub(super) use schema_of_words;

#[cfg(test)]
mod tests {
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::{Value, json};

    use super::super::{
        catalogue::Category,
        habit::{FrameLevel, TrackerValue},
    };

    /// Requires that the schema lists the words that serde reads and writes.
    fn check<T: Serialize + DeserializeOwned + schemars::JsonSchema>(all: &[T], words: &[&str]) {
        let mut settings = schemars::generate::SchemaSettings::draft07();
        settings.meta_schema = None;
        let schema = settings.into_generator().into_root_schema_for::<T>();
        assert_eq!(schema.as_value()["enum"], json!(words));
        assert_eq!(serde_json::to_value(all).unwrap(), json!(words));
        for word in words {
            serde_json::from_value::<T>(Value::from(*word)).map(drop).unwrap();
        }
    }

    #[test]
    fn the_schema_lists_the_words_that_are_read_and_written() {
        check(&FrameLevel::ALL, &["L0", "L1", "L2", "L3"]);
        check(&TrackerValue::ALL, &["done", "blank"]);
        check(&Category::ALL, &Category::ALL.map(Category::as_str));
    }
}
