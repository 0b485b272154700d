//! The languages that Madang speaks.

use serde::{Deserialize, Serialize};

/// The language of every text that a person sees. The model answers in the language of the user's last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locale {
    /// Korean, the library's default.
    #[default]
    Ko,
    /// English.
    En,
}

impl Locale {
    /// Reads the locale of a `LANG` value: Korean where it begins with `ko`, else English.
    #[must_use]
    pub fn from_lang(lang: &str) -> Self {
        if lang.to_ascii_lowercase().starts_with("ko") { Self::Ko } else { Self::En }
    }

    /// Picks the text of this language.
    #[must_use]
    pub fn pick<T>(self, ko: T, en: T) -> T {
        match self {
            Self::Ko => ko,
            Self::En => en,
        }
    }
}
