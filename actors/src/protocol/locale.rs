//! The language of a turn or a call: the tag that was chosen, and the language that writes its
//! sentences.

use std::fmt;

use super::{English, Korean, Language, LanguageTag, Text};

/// The language of every text that a person sees. The model answers in the language of the user's
/// last message.
///
/// If no [`Language`] has the tag, sentences are written in English. The tag stays the one that was
/// chosen, because a tool may know more languages than the runtime.
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

    /// Returns the tag that was chosen.
    #[must_use]
    pub const fn tag(&self) -> LanguageTag {
        self.tag
    }

    /// Returns only the language of that tag, such as `pt` of `pt-BR`.
    #[must_use]
    pub fn language(&self) -> &str {
        self.tag.language()
    }

    /// Returns the Korean text if the language is Korean, and otherwise the English one.
    #[must_use]
    pub fn pick<T>(self, ko: T, en: T) -> T {
        if self.language() == LanguageTag::KO.as_str() { ko } else { en }
    }
}

impl Text<'_> {
    /// Returns the sentence in a locale's language, or in English if that language does not have
    /// it.
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
