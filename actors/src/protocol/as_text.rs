//! Values that are text in JSON.

/// Implements serde for a type as a string, through its `Display` and its `FromStr`.
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
