//! The languages of a runtime, and the choice of one by a tag.

use std::sync::Arc;

use super::{English, Korean, Language};
use crate::protocol::{LanguageTag, Locale};

/// The number of texts of a chat, the newest first, in which its language is looked for. Older ones
/// say little about the language that a person writes now.
const MAX_TEXTS: usize = 8;

/// The languages of a runtime, and the one that it uses unless a turn or a call names another.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    added: Arc<[&'static dyn Language]>,
    named: Option<LanguageTag>,
}

impl Languages {
    /// Collects the languages of a runtime: English, Korean and these. An added language takes
    /// precedence over those two, and a later one over an earlier one of the same tag. `named` is
    /// the language of each turn and call that names no other.
    #[must_use]
    pub fn new(
        added: impl IntoIterator<Item = &'static dyn Language>,
        named: Option<LanguageTag>,
    ) -> Self {
        Self { added: added.into_iter().collect(), named }
    }

    /// Returns the locale of a turn or a call: that of its own tag, or else that of the runtime's
    /// tag. If neither is named, it is the language of the newest text whose language is detected,
    /// or English. The texts are what the person wrote, the newest first.
    #[must_use]
    pub fn choose<'a>(
        &self,
        named: Option<LanguageTag>,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Locale {
        let detected = || texts.into_iter().take(MAX_TEXTS).find_map(|text| self.detect(text));
        self.locale(named.or(self.named).or_else(detected))
    }

    /// Detects the language of a text by its first line that is certainly in one language. Returns
    /// `None` if there is none, for example because each line is too short.
    #[must_use]
    pub fn detect(&self, text: &str) -> Option<LanguageTag> {
        let of_line = |line| self.all().find(|language| language.is_of(line));
        text.lines().find_map(of_line).map(Language::tag)
    }

    /// Returns the locale of a tag, or of the runtime if none was stored. If no language has the
    /// tag, the next more general tag is tried, and in the end English.
    #[must_use]
    pub fn locale(&self, tag: Option<LanguageTag>) -> Locale {
        let tag = tag.or(self.named).unwrap_or_default();
        Locale::new(tag, tag.and_more_general().find_map(|tag| self.find(tag)).unwrap_or(&English))
    }

    fn find(&self, tag: &str) -> Option<&'static dyn Language> {
        self.all().find(|language| language.tag().as_str() == tag)
    }

    fn all(&self) -> impl Iterator<Item = &'static dyn Language> {
        let known: [&'static dyn Language; 2] = [&English, &Korean];
        self.added.iter().rev().copied().chain(known)
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
        let languages = Languages::new(added, "zh-HK".parse().ok());
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
    fn a_text_tells_its_language_by_its_first_line_that_does() {
        let languages = Languages::default();
        for (text, told) in [
            ("오늘 습관 보여줘", Some("ko")),
            ("안녕", Some("ko")),
            ("ㅇㅇ", Some("ko")),
            ("README.md 파일을 열어줘", Some("ko")),
            ("git push origin main 해줘", Some("ko")),
            ("{\"framed_text\": \"나는 7시에 일어난다\"}", Some("ko")),
            ("이 로그 봐줘:\nerror: failed to open the file\nat line 3", Some("ko")),
            ("show me the list", Some("en")),
            ("What does the Korean word 안녕 mean?", Some("en")),
            ("Put this into English:\n나는 아침마다 빛을 본다", Some("en")),
            ("ok", None),
            ("ok sure", None),
            ("1 2 3 4", None),
            ("👍", None),
            ("", None),
            ("Où est la gare ?", None),
            ("こんにちは、元気ですか", None),
        ] {
            let found = languages.detect(text);
            assert_eq!(found.as_ref().map(LanguageTag::as_str), told, "{text}");
        }
    }

    #[test]
    fn what_is_named_counts_before_what_the_texts_tell() {
        let chosen = |languages: &Languages, named: Option<&str>, texts: &[&str]| {
            let named = named.map(|tag| tag.parse().unwrap());
            languages.choose(named, texts.iter().copied()).tag().to_string()
        };
        let open = Languages::default();
        let named = Languages::new([], "fr".parse().ok());
        let korean = "오늘 습관 보여줘";
        assert_eq!(chosen(&open, Some("en"), &[korean]), "en");
        assert_eq!(chosen(&named, None, &[korean]), "fr");
        assert_eq!(chosen(&named, Some("en"), &[korean]), "en");
        assert_eq!(chosen(&open, None, &[korean, "show me the list"]), "ko");
        assert_eq!(chosen(&open, None, &["ok", korean]), "ko", "a short text goes on as before");
        assert_eq!(chosen(&open, None, &["ok"]), "en");
        let before = [&["ok"; MAX_TEXTS][..], &[korean]].concat();
        assert_eq!(chosen(&open, None, &before), "en", "no more texts are read");
    }

    #[test]
    fn what_a_language_does_not_say_is_said_in_english() {
        let languages = Languages::new([&Brief("zh") as &'static dyn Language], None);
        let english = Text::StoreFailed.in_locale(Locale::EN);
        assert_eq!(said(&languages, "zh", &Text::StoreFailed), english);
    }

    #[test]
    fn a_language_that_is_added_goes_before_the_one_that_is_there() {
        let added: [&'static dyn Language; 2] = [&Brief("ko"), &Brief("en")];
        let languages = Languages::new(added, None);
        assert_eq!(said(&languages, "ko", &Text::Overloaded), "ko");
        assert_eq!(said(&languages, "en", &Text::Overloaded), "en");
        assert_ne!(said(&languages, "fr", &Text::Overloaded), "en", "what is built in falls back");
    }

    #[test]
    fn of_two_added_languages_with_one_tag_the_later_speaks() {
        let added: [&'static dyn Language; 2] = [&Brief("fr"), &Polite(Brief("fr"))];
        let languages = Languages::new(added, None);
        assert_eq!(said(&languages, "fr", &Text::Overloaded), "fr, please");
    }
}
