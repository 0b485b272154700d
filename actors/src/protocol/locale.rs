//! The language of a turn or a call: the tag that was chosen, and the language that speaks for it.

use std::fmt;

use super::{English, Korean, Language, LanguageTag, Text};

/// The language of every text that a person sees. The model answers in the language of the user's last message.
///
/// Where no [`Language`] has the tag, English speaks. The tag stays the one that was chosen: a tool may know more
/// languages than the runtime.
#[derive(Clone, Copy)]
pub struct Locale {
    tag: LanguageTag,
    language: &'static dyn Language,
}

impl Locale {
    /// English, the default.
    pub const EN: Self = Self { tag: LanguageTag::EN, language: &English };
    /// Korean.
    pub const KO: Self = Self { tag: LanguageTag::KO, language: &Korean };

    pub(super) const fn new(tag: LanguageTag, language: &'static dyn Language) -> Self {
        Self { tag, language }
    }

    /// Gives the tag that was chosen.
    #[must_use]
    pub const fn tag(&self) -> LanguageTag {
        self.tag
    }

    /// Gives the language of that tag alone, such as `pt` of `pt-BR`.
    #[must_use]
    pub fn language(&self) -> &str {
        self.tag.language()
    }

    /// Picks the Korean text where the language is Korean, else the English one.
    #[must_use]
    pub fn pick<T>(self, ko: T, en: T) -> T {
        if self.language() == LanguageTag::KO.as_str() { ko } else { en }
    }
}

impl Text<'_> {
    /// Gives the words of a locale's language; in English where that has none.
    #[must_use]
    pub fn in_locale(&self, locale: Locale) -> String {
        locale.language.say(self).unwrap_or_else(|| English.words(self))
    }
}

/// English.
impl Default for Locale {
    fn default() -> Self {
        Self::EN
    }
}

impl PartialEq for Locale {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag
    }
}

impl Eq for Locale {}

impl fmt::Debug for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locale({})", self.tag)
    }
}
