//! The languages of cases.

use madang::LanguageTag;
use serde::{Deserialize, Serialize};

/// The language of a case's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Language {
    Ko,
    En,
}

impl Language {
    /// Returns the tag by which the library knows the language.
    pub(crate) const fn tag(self) -> LanguageTag {
        match self {
            Self::Ko => LanguageTag::KO,
            Self::En => LanguageTag::EN,
        }
    }
}
