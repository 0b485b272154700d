//! Writes the entries of a list, and asks which one is meant.

use madang::{event::quoted_up_to, tool::Locale};
use serde_json::Value;

use super::super::deeds::Entries;
use crate::{
    life::catalogue::Catalogue,
    summary::{Fields, MAX_CHARS, counted, value},
};

/// What [`count`] counts if a result has no list, but the number of a page's blocks.
pub(super) const BLOCKS: Entries = Entries::Lines;

/// The deepest level that is shown as a level of its own.
const MAX_DEPTH: u64 = 8;

/// A list with at least one entry.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    entries: Entries,
    items: &'a [Value],
    /// The entries that the list has after these.
    after: u64,
}

impl<'a> Listing<'a> {
    pub(super) fn new(entries: Entries, data: Fields<'a>, offset: u64) -> Option<Self> {
        let items = data.list().filter(|items| !items.is_empty())?;
        let shown = items.len() as u64;
        let next = data.number("next_offset").or_else(|| data.number("nextOffset"));
        let seen = next.unwrap_or(offset.saturating_add(shown));
        let after = data.total()?.saturating_sub(seen);
        Some(Self { entries, items, after })
    }

    /// Lists at most so many entries, each with what the result says of it.
    pub(super) fn rows(&self, max: usize, locale: Locale) -> Vec<String> {
        let is_outline = matches!(self.entries, Entries::Lines | Entries::Days);
        self.lines(max, locale, |number, item| {
            let item = Fields(item);
            let depth = item.number("depth").unwrap_or_default().min(MAX_DEPTH);
            let indent = "  ".repeat(usize::try_from(depth).unwrap_or_default());
            let mark = if is_outline { "-".to_owned() } else { format!("{number}.") };
            let more = remark(self.entries, item);
            Some(format!("{indent}{mark} {}{more}", name(self.entries, item, locale)?))
        })
    }

    /// Lists at most so many entries with their numbers.
    pub(super) fn choices(&self, max: usize, locale: Locale) -> Vec<String> {
        self.lines(max, locale, |number, item| {
            Some(format!("{number}. {}", name(self.entries, Fields(item), locale)?))
        })
    }

    fn lines(
        &self,
        max: usize,
        locale: Locale,
        line: impl Fn(usize, &Value) -> Option<String>,
    ) -> Vec<String> {
        let numbered = self.items.iter().enumerate().take(max);
        let mut lines: Vec<_> = numbered
            .map(|(place, item)| {
                let number = place + 1;
                let unreadable = || locale.pick("(읽을 수 없음)", "(cannot be read)");
                line(number, item).unwrap_or_else(|| format!("{number}. {}", unreadable()))
            })
            .collect();
        let left = self.after.saturating_add((self.items.len() - lines.len()) as u64);
        if left > 0 {
            lines.push(
                locale
                    .pick(format!("그 밖에 {left}개가 더 있습니다."), format!("And {left} more.")),
            );
        }
        lines
    }

    /// Asks which entry is meant; of a single one, whether it is that.
    pub(super) fn question(&self, locale: Locale) -> &'static str {
        if self.items.len() == 1 && self.after == 0 {
            return locale.pick("이것을 말씀하시나요?", "Do you mean this one?");
        }
        match self.entries {
            Entries::Items => locale.pick("어느 항목을 말씀하시나요?", "Which item do you mean?"),
            Entries::Habits => locale.pick("어느 습관을 말씀하시나요?", "Which habit do you mean?"),
            Entries::Days => locale.pick("어느 날을 말씀하시나요?", "Which day do you mean?"),
            Entries::Pages => locale.pick("어느 페이지를 말씀하시나요?", "Which page do you mean?"),
            Entries::Hits | Entries::Lines => {
                locale.pick("어느 블록을 말씀하시나요?", "Which block do you mean?")
            }
        }
    }
}

/// Says how many entries a list has.
pub(super) fn count(entries: Entries, total: u64, locale: Locale) -> String {
    let (ko, one) = match entries {
        Entries::Items => ("맞는 항목은", "item"),
        Entries::Habits => ("습관은", "habit"),
        Entries::Days => ("기록은", "record"),
        Entries::Pages => ("페이지는", "page"),
        Entries::Hits | Entries::Lines => ("블록은", "block"),
    };
    let are = if total == 1 { "is" } else { "are" };
    locale.pick(
        format!("{ko} 모두 {total}개입니다."),
        format!("There {are} {} in all.", counted(total, one)),
    )
}

/// Names an entry so that a person can tell it from the others.
fn name(entries: Entries, item: Fields<'_>, locale: Locale) -> Option<String> {
    Some(match entries {
        Entries::Items => title(item, "id", locale)?,
        Entries::Habits => {
            let number = item.number("habit_id")?;
            let title = title(item, "protocol_id", locale)?;
            locale.pick(format!("{title} ({number}번)"), format!("{title} (habit {number})"))
        }
        Entries::Days => {
            let (ko, en) = value(item)?;
            format!("{}: {}", item.day("date")?, locale.pick(ko, en))
        }
        Entries::Pages if item.0.get("isDirectory") == Some(&true.into()) => {
            format!("{} {}", item.text("title")?, locale.pick("(폴더)", "(folder)"))
        }
        Entries::Pages => item.text("title")?,
        Entries::Hits => {
            let (content, page) = (item.text("content")?, item.text("pageTitle")?);
            locale.pick(format!("{content} ({page} 페이지)"), format!("{content} (page {page})"))
        }
        Entries::Lines => item.text("content")?,
    })
}

/// Names an item of the catalogue in the language of the person, and anything else as it is.
fn title(item: Fields<'_>, id: &str, locale: Locale) -> Option<String> {
    let known = item.raw(id).and_then(|id| Catalogue::bundled().get(id));
    match known {
        Some(known) => Some(quoted_up_to(known.title.get(locale), MAX_CHARS)),
        None => item.text("title"),
    }
}

/// Returns what else the result says of an entry.
fn remark(entries: Entries, item: Fields<'_>) -> String {
    let field = match entries {
        Entries::Items => "summary",
        Entries::Habits => "framed_text",
        Entries::Days => "note",
        Entries::Pages | Entries::Hits | Entries::Lines => return String::new(),
    };
    let said = item.text(field).filter(|_| item.raw(field) != item.raw("title"));
    said.map_or_else(String::new, |said| format!(": {said}"))
}
