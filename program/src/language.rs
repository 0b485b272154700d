//! The language in which a person is spoken to: what is chosen, else what the environment says.

use std::env;

use clap::ValueEnum;
use madang::Locale;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Language {
    Ko,
    En,
}

/// The language of the environment.
pub(crate) fn locale() -> Locale {
    spoken(None)
}

pub(crate) fn spoken(chosen: Option<Language>) -> Locale {
    match chosen {
        Some(Language::Ko) => Locale::Ko,
        Some(Language::En) => Locale::En,
        None => Locale::from_lang(&environment_language(|name| env::var(name).ok())),
    }
}

/// What the environment calls its language: the first of these that is set decides, as everywhere.
fn environment_language(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_first_variable_that_is_set() {
        let locale = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            Locale::from_lang(&environment_language(value))
        };
        assert_eq!(locale(&[]), Locale::En);
        assert_eq!(locale(&[("LANG", "ko_KR.UTF-8")]), Locale::Ko);
        assert_eq!(locale(&[("LANG", "ko_KR.UTF-8"), ("LC_ALL", "")]), Locale::Ko);
        assert_eq!(locale(&[("LANG", "ko_KR.UTF-8"), ("LC_MESSAGES", "de_DE.UTF-8")]), Locale::En);
        assert_eq!(
            locale(&[("LC_ALL", "ko"), ("LC_MESSAGES", "en_GB"), ("LANG", "C")]),
            Locale::Ko
        );
    }
}
