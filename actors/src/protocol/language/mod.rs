//! The languages in which a runtime speaks: English and Korean, and those that an application adds.
//!
//! A [`Text`] is a sentence with its values and without its words. A [`Language`] says it. [`Languages`] finds the
//! language of a tag:
//!
//! ```text
//! tag "fr-CA" -> no language of "fr-CA" -> the language of "fr" -> else English
//! no tag -> the language of the user's text -> that of an earlier text -> else English
//! ```
//!
//! `english` and `korean` have the sentences of each language, one arm for each text. The module `language` of `madang`
//! shows how an application adds its own.
//!
//! **Invariants.**
//! - English and Korean have each text; a test compares all of them with the expected sentences.
//! - Where an added language has no sentence for a text, English says it.
//! - An added language goes before the built-in one of the same tag, and a later one before an earlier one.
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

/// A language in which a runtime says its own sentences: reasons, questions, notices, errors.
///
/// [`English`] and [`Korean`] are there. An application adds others by `Builder::add_language`, and chooses one for each turn.
pub trait Language: fmt::Debug + Send + Sync + 'static {
    /// Gives the tag that chooses this language.
    fn tag(&self) -> LanguageTag;

    /// Says a text. With `None` it is said in English, such as a text that a later version has added.
    fn say(&self, text: &Text<'_>) -> Option<String>;

    /// Tells whether a line that a person wrote is surely in this language. A turn that names none then speaks it. By
    /// default no line is, and the language speaks only where it is named.
    fn is_of(&self, line: &str) -> bool {
        let _ = line;
        false
    }
}

/// Splits a line at its blanks, and gives the words that have letters.
fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().filter(|word| word.contains(char::is_alphabetic))
}

/// Joins words of JSON (`string`, `object`, names of formats) by commas. They are the same in every language.
fn listed(items: &[impl fmt::Display]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

/// Gives the time for which "always" holds, its unit, and its resource in quotes. The number is of hours where they are
/// whole, and else of minutes.
fn standing(lifetime: Duration, resource: Option<&str>) -> (u64, bool, Option<String>) {
    let minutes = lifetime.as_secs().div_ceil(60);
    let is_hours = minutes >= 60 && minutes.is_multiple_of(60);
    let resource = resource.map(|resource| serde_json::Value::from(resource).to_string());
    (if is_hours { minutes / 60 } else { minutes }, is_hours, resource)
}
