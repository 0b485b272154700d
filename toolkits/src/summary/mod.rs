//! Describes in one line for a person what a call gave, in Korean and English.
//!
//! `life` and `notes` have a sentence for each tool of their toolkit, and `general` one for any
//! other. Texts of tools, models and people are in quotation marks, and at most 60 characters of
//! each are shown.
//!
//! ```
//! use madang::tool::Locale;
//! use madang_toolkits::summary::summary;
//!
//! let data = serde_json::json!({ "id": "0198", "title": "Groceries" });
//! assert_eq!(summary("create_page", &data, Locale::EN), "Created the page 'Groceries'.");
//! ```
//!
//! Invariants:
//! - A summary is one line without control characters, whatever the data are.
//! - It never shows JSON, nor ids other than the numbers of habits.

mod fields;
mod life;
mod notes;
#[cfg(test)]
mod tests;

use madang::tool::Locale;
use serde_json::Value;

pub(crate) use fields::{Fields, MAX_CHARS, counted};
pub(crate) use life::value;

/// A sentence in both languages, Korean first.
type Pair = (String, String);

/// Describes what a call gave. Without words for this tool or data, it counts the items of a list,
/// quotes a text, or says that the call is done.
#[must_use]
pub fn summary(tool: &str, data: &Value, locale: Locale) -> String {
    let fields = Fields(data);
    let specific = life::summary(tool, fields).or_else(|| notes::summary(tool, fields));
    let (ko, en) = specific.unwrap_or_else(|| general(fields));
    locale.pick(ko, en)
}

fn general(data: Fields<'_>) -> Pair {
    let listed = data.items().map(|(ko, en)| (format!("{ko}입니다."), format!("{en}.")));
    let quoted = || data.as_text().map(|text| (text.clone(), text));
    listed.or_else(quoted).unwrap_or_else(|| ("완료했습니다.".to_owned(), "Done.".to_owned()))
}
