//! The languages of a runtime, and which of them speaks for a tag.

use std::sync::Arc;

use super::{English, Korean, Language};
use crate::protocol::{LanguageTag, Locale};

/// The languages that a runtime speaks, and the one that it speaks unless a turn or a call names another.
#[derive(Debug, Clone)]
pub struct Languages {
    added: Arc<[&'static dyn Language]>,
    default: LanguageTag,
}

impl Languages {
    /// Collects the languages of a runtime: English, Korean and these. One of these goes before those two, and a later one
    /// before an earlier one of the same tag.
    #[must_use]
    pub fn new(
        added: impl IntoIterator<Item = &'static dyn Language>,
        default: LanguageTag,
    ) -> Self {
        Self { added: added.into_iter().collect(), default }
    }

    /// Gives the locale of a tag, or of the runtime where none is chosen. A tag that no language has takes the language of
    /// its next more general one, and in the end English.
    #[must_use]
    pub fn locale(&self, tag: Option<LanguageTag>) -> Locale {
        let tag = tag.unwrap_or(self.default);
        Locale::new(tag, tag.and_more_general().find_map(|tag| self.find(tag)).unwrap_or(&English))
    }

    fn find(&self, tag: &str) -> Option<&'static dyn Language> {
        let known: [&'static dyn Language; 2] = [&English, &Korean];
        let mut all = self.added.iter().rev().copied().chain(known);
        all.find(|language| language.tag().as_str() == tag)
    }
}

/// English and Korean, and English where nothing else is chosen.
impl Default for Languages {
    fn default() -> Self {
        Self::new([], LanguageTag::EN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Text;

    #[derive(Debug)]
    struct Brief(&'static str);

    /// Says something else than [`Brief`] in its language.
    #[derive(Debug)]
    struct Polite(Brief);

    impl Language for Polite {
        fn tag(&self) -> LanguageTag {
            self.0.tag()
        }

        fn say(&self, _: &Text<'_>) -> Option<String> {
            Some(format!("{}, please", self.0.0))
        }
    }

    impl Language for Brief {
        fn tag(&self) -> LanguageTag {
            self.0.parse().unwrap()
        }

        fn say(&self, text: &Text<'_>) -> Option<String> {
            matches!(text, Text::Overloaded).then(|| self.0.to_owned())
        }
    }

    fn said(languages: &Languages, tag: &str, text: &Text<'_>) -> String {
        let locale = languages.locale(Some(tag.parse().unwrap()));
        assert_eq!(locale.tag(), tag.parse().unwrap(), "a tool reads the tag that was chosen");
        text.in_locale(locale)
    }

    #[test]
    fn the_most_special_language_of_a_tag_speaks_and_english_where_there_is_none() {
        let added: [&'static dyn Language; 3] = [&Brief("zh"), &Brief("zh-Hant"), &Brief("ko-KP")];
        let languages = Languages::new(added, "zh-HK".parse().unwrap());
        let [english, korean] =
            [Locale::EN, Locale::KO].map(|locale| Text::Overloaded.in_locale(locale));
        for (tag, words) in [
            ("zh-Hant-TW", "zh-Hant"),
            ("zh-Hans", "zh"),
            ("ko-KP", "ko-KP"),
            ("ko-KR", korean.as_str()),
            ("en-GB", english.as_str()),
            ("tlh", english.as_str()),
        ] {
            assert_eq!(said(&languages, tag, &Text::Overloaded), words, "{tag}");
        }
        assert_eq!(Text::Overloaded.in_locale(languages.locale(None)), "zh");
    }

    #[test]
    fn what_a_language_does_not_say_is_said_in_english() {
        let languages = Languages::new([&Brief("zh") as &'static dyn Language], LanguageTag::EN);
        let english = Text::StoreFailed.in_locale(Locale::EN);
        assert_eq!(said(&languages, "zh", &Text::StoreFailed), english);
    }

    #[test]
    fn a_language_that_is_added_goes_before_the_one_that_is_there() {
        let added: [&'static dyn Language; 2] = [&Brief("ko"), &Brief("en")];
        let languages = Languages::new(added, LanguageTag::EN);
        assert_eq!(said(&languages, "ko", &Text::Overloaded), "ko");
        assert_eq!(said(&languages, "en", &Text::Overloaded), "en");
        assert_ne!(said(&languages, "fr", &Text::Overloaded), "en", "what is built in falls back");
    }

    #[test]
    fn of_two_added_languages_with_one_tag_the_later_speaks() {
        let added: [&'static dyn Language; 2] = [&Brief("fr"), &Polite(Brief("fr"))];
        let languages = Languages::new(added, LanguageTag::EN);
        assert_eq!(said(&languages, "fr", &Text::Overloaded), "fr, please");
    }
}
