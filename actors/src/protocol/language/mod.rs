//! The languages in which a runtime speaks: English and Korean, and those that an application adds.

use std::{fmt, time::Duration};

mod english;
mod korean;
mod languages;
#[cfg(test)]
mod tests;

pub use english::English;
pub use korean::Korean;
pub use languages::Languages;

use super::{LanguageTag, Text};

/// A language in which a runtime says its own sentences: reasons, questions, notices, errors.
///
/// [`English`] and [`Korean`] are there. An application adds others by `Builder::add_language`, and chooses one for each turn.
pub trait Language: fmt::Debug + Send + Sync + 'static {
    /// Gives the tag that chooses this language.
    fn tag(&self) -> LanguageTag;

    /// Says a text. With `None` it is said in English, such as a text that a later version has added.
    fn say(&self, text: &Text<'_>) -> Option<String>;
}

/// JSON's own words (`string`, `object`, names of formats) are the same in every language.
fn listed(items: &[impl fmt::Display]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

/// How long "always" holds, as a number of hours or minutes, and its resource in quotes.
fn standing(lifetime: Duration, resource: Option<&str>) -> (u64, bool, Option<String>) {
    let minutes = lifetime.as_secs().div_ceil(60);
    let is_hours = minutes >= 60 && minutes.is_multiple_of(60);
    let resource = resource.map(|resource| serde_json::Value::from(resource).to_string());
    (if is_hours { minutes / 60 } else { minutes }, is_hours, resource)
}
