//! Describes the results of tools in one line for a person, in both languages.

use madang::{
    event::{plain, quoted_up_to},
    language::Particle,
};
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
    let text = |name: &str| Some(quoted_up_to(data.get(name)?.as_str()?, MAX_CHARS));
    let number = |name: &str| data.get(name)?.as_u64();
    let items = || items(data, locale);
    let (ko, en) = match tool {
        "search_catalog" => {
            let items = items()?;
            (
                format!("카탈로그에서 {items}를 찾았습니다."),
                format!("Found {items} in the catalogue."),
            )
        }
        "query_protocol" => {
            let title = text("title")?;
            (format!("{title} 항목을 읽었습니다."), format!("Read the item {title}."))
        }
        "list_active_habits" => {
            let items = items()?;
            (format!("진행 중인 습관은 {items}입니다."), format!("Active habits: {items}."))
        }
        "get_streak" => {
            let title = text("title")?;
            let current = number("current")?;
            let days = if current == 1 { "day" } else { "days" };
            (
                format!("{title}: {current}일째 이어 가고 있습니다."),
                format!("{title}: {current} {days} in a row."),
            )
        }
        "add_habit" => added(data, &text("title")?, number("habit_id")?),
        "log_tracker_entry" => {
            let habit = number("habit_id")?;
            let is_done = data.get("value")? == "done";
            let day = plain(data.get("date")?.as_str()?);
            let (ko, en) = if is_done { ("완료", "done") } else { ("빈칸", "blank") };
            let particle = Particle::As.after(ko);
            (
                format!("{habit}번 습관의 {day} 기록을 {ko}{particle} 남겼습니다."),
                format!("Recorded habit {habit} as {en} for {day}."),
            )
        }
        "get_block" => {
            let content = text("content")?;
            (format!("{content} 블록을 읽었습니다."), format!("Read the block {content}."))
        }
        "get_current_context" => open_page(data),
        "query_pages" | "list_pages" => {
            let items = items()?;
            (format!("페이지를 {items} 찾았습니다."), format!("Pages: {items}."))
        }
        "query_blocks" | "get_page_blocks" => {
            let items = items()?;
            (format!("블록을 {items} 찾았습니다."), format!("Blocks: {items}."))
        }
        _ => return None,
    };
    Some(locale.pick(ko, en))
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

fn added(data: &Value, title: &str, number: u64) -> (String, String) {
    let topic = Particle::Topic.after(title);
    let object = Particle::Object.after(title);
    if data.get("already_active") == Some(&Value::Bool(true)) {
        (
            format!("{title}{topic} 이미 {number}번 습관입니다. 바뀐 것이 없습니다."),
            format!("{title} is habit {number} already; nothing has changed."),
        )
    } else {
        (
            format!("{number}번 습관 {title}{object} 추가했습니다."),
            format!("Added habit {number}, {title}."),
        )
    }
}

fn open_page(data: &Value) -> (String, String) {
    let title = data.get("page").and_then(|page| page.get("title")?.as_str());
    match title.map(|title| quoted_up_to(title, MAX_CHARS)) {
        Some(title) => {
            (format!("{title} 페이지가 열려 있습니다."), format!("The page {title} is open."))
        }
        None => ("열린 페이지가 없습니다.".to_owned(), "No page is open.".to_owned()),
    }
}
