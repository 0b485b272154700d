//! The name of a model within its runtime.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::id::text_id;

text_id!(
    /// Names one of the models of a runtime, such as `small` or `anthropic:claude-opus-4-5`. The
    /// application chooses the name. It is not a provider's id, although it may look like one.
    ModelName: "1 to 128 ASCII letters, digits and characters of `._:/@+-`",
    ModelName::check => InvalidModelName
);

/// A text that cannot be the name of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a model has 1 to {max_bytes} ASCII letters, digits and characters of ._:/@+-", max_bytes = ModelName::MAX_BYTES)]
pub struct InvalidModelName;

impl ModelName {
    /// The most bytes of a name. It is in each message and metric of its model, and a provider's
    /// own names fit.
    pub const MAX_BYTES: usize = 128;

    fn check(name: &str) -> Result<(), InvalidModelName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/@+-".contains(&byte);
        let is_name = (1..=Self::MAX_BYTES).contains(&name.len()) && name.bytes().all(fits);
        if is_name { Ok(()) } else { Err(InvalidModelName) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_stands_anywhere_as_it_is() {
        let longest = "x".repeat(128);
        for name in ["small", "Qwen3-8B.Q4_K_M", "openai:org/model@2", "a+b", &longest] {
            assert_eq!(ModelName::new(name).unwrap().to_string(), name);
        }
        let too_long = "x".repeat(129);
        for name in ["", " ", "a b", "a\n", "모델", "a\"b", "a,b", "a?b", "a#b", &too_long] {
            assert_eq!(ModelName::new(name), Err(InvalidModelName), "{name:?}");
            assert!(serde_json::from_value::<ModelName>(name.into()).is_err(), "{name:?}");
        }
    }
}
