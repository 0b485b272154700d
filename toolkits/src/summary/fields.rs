//! Reads the fields of a result, made safe to show.

use madang::event::quoted_up_to;
use serde_json::Value;

use super::Pair;

/// The characters of a title or a line that are shown.
pub(crate) const MAX_CHARS: usize = 60;
/// The bytes of a day.
const DAY_BYTES: usize = 10;

/// The data of a result. What is missing or has another form is `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Value);

impl<'a> Fields<'a> {
    /// Quotes a text.
    pub(crate) fn text(self, name: &str) -> Option<String> {
        Some(quoted_up_to(self.raw(name)?, MAX_CHARS))
    }

    /// Quotes the data, if they are a text.
    pub(crate) fn as_text(self) -> Option<String> {
        Some(quoted_up_to(self.0.as_str()?, MAX_CHARS))
    }

    /// Returns a text as it is.
    pub(crate) fn raw(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a number that is whole and not negative.
    pub(crate) fn number(self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// Returns a day of the form YYYY-MM-DD.
    pub(crate) fn day(self, name: &str) -> Option<&'a str> {
        let is_of_day = |byte: u8| byte.is_ascii_digit() || byte == b'-';
        self.raw(name).filter(|day| day.len() == DAY_BYTES && day.bytes().all(is_of_day))
    }

    /// Returns a field's fields.
    pub(crate) fn inner(self, name: &str) -> Option<Self> {
        self.0.get(name).filter(|value| value.is_object()).map(Self)
    }

    /// Returns the entries of the list that the data are or have.
    pub(crate) fn list(self) -> Option<&'a [Value]> {
        self.0.as_array().or_else(|| self.0.get("items")?.as_array()).map(Vec::as_slice)
    }

    /// Returns how many entries the list has, with those that are not in these data.
    pub(crate) fn total(self) -> Option<u64> {
        let shown = self.list()?.len() as u64;
        Some(self.number("total").or_else(|| self.number("count")).unwrap_or(shown).max(shown))
    }

    /// Counts the entries of the list: those that are here, and all.
    pub(crate) fn items(self) -> Option<Pair> {
        let shown = self.list()?.len() as u64;
        let total = self.total()?;
        let en = counted(total, "item");
        Some(if shown == total {
            (format!("{total}개"), en)
        } else {
            (format!("{total}개 중 {shown}개"), format!("{shown} of {en}"))
        })
    }

    /// Returns whether the list is there and empty.
    pub(crate) fn is_empty_list(self) -> bool {
        self.total() == Some(0)
    }
}

/// Counts in English.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
