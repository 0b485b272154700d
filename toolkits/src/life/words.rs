//! Types that are one word of a closed list.

/// Makes an enum whose variants are words: for serde, for the store, and in the plain schema
/// `{"type":"string","enum":[..]}`. The derive would make a schema of each word's documentation,
/// which costs a model tokens and is of no use to it.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $kind:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $kind {
            $($(#[$of])* #[serde(rename = $word)] $variant,)*
        }

        impl $kind {
            /// All of them.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the word that the store, the catalogue and results use.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the variant of this word, or `None` if there is none.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl schemars::JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
            }
        }
    };
}
pub(super) use words;

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
