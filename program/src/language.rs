//! Chooses the language for the person: the chosen one, else the environment's.

use std::env;

use clap::{Args as Options, ValueEnum};
use madang::{LanguageTag, language::Languages, tool::Locale};

/// A language of the program's own texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UiLanguage {
    Ko,
    En,
}

impl UiLanguage {
    /// Reads a `LANG` value: Korean if it begins with `ko`, else English.
    fn from_lang(lang: &str) -> Self {
        if lang.to_ascii_lowercase().starts_with("ko") { Self::Ko } else { Self::En }
    }

    /// Picks the text of this language.
    pub(crate) fn pick<T>(self, ko: T, en: T) -> T {
        match self {
            Self::Ko => ko,
            Self::En => en,
        }
    }

    /// Returns the tag by which the library knows the language.
    pub(crate) fn tag(self) -> LanguageTag {
        self.pick(LanguageTag::KO, LanguageTag::EN)
    }

    /// Returns the locale of the library's own texts.
    pub(crate) fn locale(self) -> Locale {
        self.pick(Locale::KO, Locale::EN)
    }
}

/// The language that was chosen for a person who writes texts, or none.
#[derive(Debug, Clone, Copy, Default, Options)]
pub(crate) struct LanguageChoice {
    /// The language. Without it, Korean where the environment is, and else that of each text.
    #[arg(long = "locale", value_enum)]
    option: Option<UiLanguage>,
}

impl LanguageChoice {
    /// Returns the language that was named: by the option, or by a Korean environment. An English
    /// one names none, because most machines have it whoever uses them.
    pub(crate) fn named(self) -> Option<UiLanguage> {
        let korean = || Some(UiLanguage::default()).filter(|language| *language == UiLanguage::Ko);
        self.option.or_else(korean)
    }

    /// Returns the tag of the language that was named.
    pub(crate) fn tag(self) -> Option<LanguageTag> {
        self.named().map(UiLanguage::tag)
    }

    /// Returns the language of the program's own texts until a text of the person is in another.
    pub(crate) fn first(self) -> UiLanguage {
        self.named().unwrap_or_default()
    }

    /// Returns the language of the program's own texts after a text of the person, if this one was
    /// theirs before.
    pub(crate) fn behind(self, text: &str, before: UiLanguage) -> UiLanguage {
        self.named().unwrap_or_else(|| detected(text).unwrap_or(before))
    }
}

/// Tells the language of a text, where it is one of the program's.
fn detected(text: &str) -> Option<UiLanguage> {
    let tag = Languages::default().detect(text)?;
    [UiLanguage::Ko, UiLanguage::En].into_iter().find(|language| language.tag() == tag)
}

/// Returns the language of the environment.
impl Default for UiLanguage {
    fn default() -> Self {
        Self::from_lang(&environment_language(|name| env::var(name).ok()))
    }
}

/// Returns the environment's name of its language: the first of these variables that is set, as
/// everywhere.
fn environment_language(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_named_counts_before_what_a_text_tells() {
        let named = |language| LanguageChoice { option: Some(language) };
        assert_eq!(named(UiLanguage::En).behind("목록 보여줘", UiLanguage::En), UiLanguage::En);
        assert_eq!(
            named(UiLanguage::Ko).behind("show me the list", UiLanguage::Ko),
            UiLanguage::Ko
        );
        assert_eq!(detected("목록 보여줘"), Some(UiLanguage::Ko));
        assert_eq!(detected("show me the list"), Some(UiLanguage::En));
        assert_eq!(detected("ok"), None);
    }

    #[test]
    fn the_language_is_that_of_the_first_variable_that_is_set() {
        let language = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            UiLanguage::from_lang(&environment_language(value))
        };
        assert_eq!(language(&[]), UiLanguage::En);
        assert_eq!(language(&[("LANG", "ko_KR.UTF-8")]), UiLanguage::Ko);
        assert_eq!(language(&[("LANG", "ko_KR.UTF-8"), ("LC_ALL", "")]), UiLanguage::Ko);
        let german = [("LANG", "ko_KR.UTF-8"), ("LC_MESSAGES", "de_DE.UTF-8")];
        assert_eq!(language(&german), UiLanguage::En);
        let korean = [("LC_ALL", "ko"), ("LC_MESSAGES", "en_GB"), ("LANG", "C")];
        assert_eq!(language(&korean), UiLanguage::Ko);
        for lang in ["ko", "ko_KR.UTF-8", "KO"] {
            assert_eq!(UiLanguage::from_lang(lang), UiLanguage::Ko);
        }
        for lang in ["", "C", "en_US.UTF-8", "de_DE.UTF-8"] {
            assert_eq!(UiLanguage::from_lang(lang), UiLanguage::En);
        }
    }
}
