//! Values that stand in JSON as their text.

/// Makes strings of a type and reads it from strings, as serde asks for it, by its `Display` and its `FromStr`.
macro_rules! as_text {
    ($type:ident, $error:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }
    };
}
pub(crate) use as_text;
