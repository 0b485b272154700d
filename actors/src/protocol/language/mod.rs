//! The languages of a runtime's own sentences: English and Korean, and those that an application
//! adds.
//!
//! A [`Text`] identifies a sentence and carries its values. A [`Language`] writes it. [`Languages`]
//! finds the language of a tag:
//!
//! ```text
//! tag "fr-CA" -> no language of "fr-CA" -> the language of "fr" -> else English
//! no tag -> the language of the user's text -> that of an earlier text -> else English
//! ```
//!
//! `english` and `korean` have the sentences of each language, one arm for each text. The module
//! `language` of `madang` shows how an application adds its own.
//!
//! **Invariants.**
//! - English and Korean have each text. A test compares all of them with the expected sentences.
//! - If an added language has no sentence for a text, the text is in English.
//! - An added language takes precedence over the built-in one of the same tag, and a later one over
//!   an earlier one.
//! - The tag is stored with the turn, so a sentence that is read again has the same language.

use std::{fmt, time::Duration};

mod english;
mod korean;
mod languages;
mod particle;
#[cfg(test)]
mod tests;

pub use english::English;
pub use korean::Korean;
pub use languages::Languages;
pub use particle::Particle;

use super::{LanguageTag, Text};

/// A language of a runtime's own sentences: reasons, questions, notices, errors.
///
/// [`English`] and [`Korean`] are included. An application adds others by `Builder::add_language`,
/// and chooses one for each turn.
pub trait Language: fmt::Debug + Send + Sync + 'static {
    /// Returns the tag that chooses this language.
    fn tag(&self) -> LanguageTag;

    /// Returns the sentence of a text. If this returns `None`, for example for a text that a later
    /// version has added, the text is in English.
    fn say(&self, text: &Text<'_>) -> Option<String>;

    /// Returns whether a line that a person wrote is certainly in this language. A turn that names
    /// no language then uses this one. By default no line is, and the language is used only if it
    /// is named.
    fn is_of(&self, line: &str) -> bool {
        let _ = line;
        false
    }
}

/// Counts the words of a line that are of a language, and those that are not. Only words with
/// letters count.
fn count_words(line: &str, is_of: impl Fn(&str) -> bool) -> (usize, usize) {
    let words = line.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
    let mut own = 0;
    let mut all = 0;
    for word in words {
        all += 1;
        own += usize::from(is_of(word));
    }
    (own, all - own)
}

/// Joins words of JSON (`string`, `object`, names of formats) by commas. They are the same in every
/// language.
fn listed(items: &[impl fmt::Display]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

/// Returns the time for which "always" holds, its unit, and its resource in quotes. The number
/// counts hours if they are whole, and otherwise minutes.
fn standing(lifetime: Duration, resource: Option<&str>) -> (u64, bool, Option<String>) {
    let minutes = lifetime.as_secs().div_ceil(60);
    let is_hours = minutes >= 60 && minutes.is_multiple_of(60);
    let resource = resource.map(|resource| serde_json::Value::from(resource).to_string());
    (if is_hours { minutes / 60 } else { minutes }, is_hours, resource)
}
