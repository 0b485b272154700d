//! Describes the results of tools in one line for a person, in both languages.

use madang::event::quoted_up_to;
use serde_json::Value;

use crate::{language::UiLanguage, texts::Text};

/// The characters of a title or a line that are shown.
const MAX_CHARS: usize = 60;

/// Describes the result of a call.
pub(super) fn done(tool: &str, data: &Value, locale: UiLanguage) -> String {
    specific(tool, data, locale).unwrap_or_else(|| general(data, locale))
}

/// Describes the result of a known tool, if its data have the known form.
fn specific(tool: &str, data: &Value, locale: UiLanguage) -> Option<String> {
    let title = || Some(quoted_up_to(data.get("title")?.as_str()?, MAX_CHARS));
    let number = |name: &str| data.get(name)?.as_u64();
    Some(match (tool, locale) {
        ("search_catalog", UiLanguage::Ko) => {
            format!("카탈로그에서 {}를 찾았습니다.", items(data, locale)?)
        }
        ("search_catalog", UiLanguage::En) => {
            format!("Found {} in the catalogue.", items(data, locale)?)
        }
        ("query_protocol", UiLanguage::Ko) => format!("{} 항목을 읽었습니다.", title()?),
        ("query_protocol", UiLanguage::En) => format!("Read the item {}.", title()?),
        ("list_active_habits", UiLanguage::Ko) => {
            format!("진행 중인 습관은 {}입니다.", items(data, locale)?)
        }
        ("list_active_habits", UiLanguage::En) => {
            format!("Active habits: {}.", items(data, locale)?)
        }
        ("get_streak", UiLanguage::Ko) => {
            format!("{}: {}일째 이어 가고 있습니다.", title()?, number("current")?)
        }
        ("get_streak", UiLanguage::En) => {
            format!("{}: {} in a row.", title()?, days(number("current")?))
        }
        ("add_habit", _) => added(data, &title()?, number("habit_id")?, locale),
        ("log_tracker_entry", UiLanguage::Ko) => {
            let value = if data.get("value")? == "done" { "완료" } else { "빈칸" };
            format!("{}번 습관의 {} 기록을 {value}로 남겼습니다.", number("habit_id")?, day(data)?)
        }
        ("log_tracker_entry", UiLanguage::En) => {
            let value = if data.get("value")? == "done" { "done" } else { "blank" };
            format!("Recorded habit {} as {value} for {}.", number("habit_id")?, day(data)?)
        }
        ("get_block", UiLanguage::Ko) => format!("{} 블록을 읽었습니다.", content(data)?),
        ("get_block", UiLanguage::En) => format!("Read the block {}.", content(data)?),
        ("get_current_context", _) => open_page(data, locale),
        ("query_pages" | "list_pages", UiLanguage::Ko) => {
            format!("페이지를 {} 찾았습니다.", items(data, locale)?)
        }
        ("query_pages" | "list_pages", UiLanguage::En) => {
            format!("Pages: {}.", items(data, locale)?)
        }
        ("query_blocks" | "get_page_blocks", UiLanguage::Ko) => {
            format!("블록을 {} 찾았습니다.", items(data, locale)?)
        }
        ("query_blocks" | "get_page_blocks", UiLanguage::En) => {
            format!("Blocks: {}.", items(data, locale)?)
        }
        _ => return None,
    })
}

/// Describes the result of any tool.
fn general(data: &Value, locale: UiLanguage) -> String {
    match (items(data, locale), data.as_str()) {
        (Some(items), _) => items,
        (None, Some(text)) => quoted_up_to(text, MAX_CHARS),
        (None, None) => locale.pick("완료했습니다.", "Done.").to_owned(),
    }
}

/// Describes the number of items of a list.
fn items(data: &Value, locale: UiLanguage) -> Option<String> {
    let listed = data.as_array().or_else(|| data.get("items")?.as_array())?;
    let shown = listed.len() as u64;
    let number = |name| data.get(name).and_then(Value::as_u64);
    let total = number("total").or_else(|| number("count")).unwrap_or(shown);
    Some(Text::Items { shown, total }.in_locale(locale))
}

fn added(data: &Value, title: &str, number: u64, locale: UiLanguage) -> String {
    match (data.get("already_active") == Some(&Value::Bool(true)), locale) {
        (false, UiLanguage::Ko) => format!("{number}번 습관 {title}을(를) 추가했습니다."),
        (false, UiLanguage::En) => format!("Added habit {number}, {title}."),
        (true, UiLanguage::Ko) => {
            format!("{title}은(는) 이미 {number}번 습관입니다. 바뀐 것이 없습니다.")
        }
        (true, UiLanguage::En) => {
            format!("{title} is habit {number} already; nothing has changed.")
        }
    }
}

fn open_page(data: &Value, locale: UiLanguage) -> String {
    let page = data.get("page").and_then(|page| page.get("title")?.as_str());
    match (page.map(|title| quoted_up_to(title, MAX_CHARS)), locale) {
        (Some(title), UiLanguage::Ko) => format!("{title} 페이지가 열려 있습니다."),
        (Some(title), UiLanguage::En) => format!("The page {title} is open."),
        (None, UiLanguage::Ko) => "열린 페이지가 없습니다.".to_owned(),
        (None, UiLanguage::En) => "No page is open.".to_owned(),
    }
}

fn content(data: &Value) -> Option<String> {
    Some(quoted_up_to(data.get("content")?.as_str()?, MAX_CHARS))
}

fn day(data: &Value) -> Option<String> {
    Some(madang::event::plain(data.get("date")?.as_str()?).into_owned())
}

fn days(count: u64) -> String {
    format!("{count} day{}", if count == 1 { "" } else { "s" })
}
