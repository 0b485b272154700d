//! Writes what a result says in addition to its summary, by a table of fields.

use madang::{event::quoted_up_to, tool::Locale};
use serde_json::Value;

use crate::summary::Fields;

/// The characters of a text that are shown.
const MAX_CHARS: usize = 400;
/// The most texts of a list in a field that are shown.
const MAX_TEXTS: usize = 8;

/// A field of a result, with the line that tells its value.
struct Detail {
    /// A JSON Pointer.
    field: &'static str,
    /// The line in Korean and in English; `{}` is the value.
    says: (&'static str, &'static str),
}

const fn detail(field: &'static str, ko: &'static str, en: &'static str) -> Detail {
    Detail { field, says: (ko, en) }
}

/// What a person said of a habit.
const HABIT: &[Detail] = &[
    detail("/framed_text", "문구: {}", "Text: {}"),
    detail("/anchor_when", "때: {}", "When: {}"),
    detail("/anchor_after_what", "이것 다음에: {}", "After: {}"),
    detail("/dose_text", "분량: {}", "Amount: {}"),
    detail("/started_on", "시작한 날: {}", "Since: {}"),
];

const ITEM: &[Detail] = &[
    detail("/summary", "내용: {}", "Summary: {}"),
    detail("/why", "이유: {}", "Why: {}"),
    detail("/steps", "방법: {}", "Steps: {}"),
    detail("/dose/standard", "보통 분량: {}", "Usual amount: {}"),
    detail("/dose/minimum", "가장 적은 분량: {}", "Least amount: {}"),
    detail("/anchor", "때: {}", "When: {}"),
];

const STREAK: &[Detail] = &[
    detail("/longest", "가장 길게 이어진 날: {}일", "Longest run of days: {}"),
    detail("/last_30_days", "최근 30일 가운데: {}일", "Days of the last 30: {}"),
    detail("/phase/done", "처음 42일 가운데: {}일", "Days of the first 42: {}"),
    detail("/tier", "단계: {}", "Tier: {}"),
];

/// The length is there only if the content is a part of it.
const BLOCK: &[Detail] = &[
    detail("/content", "내용: {}", "Text: {}"),
    detail("/length", "전체 글자 수: {}", "Characters in all: {}"),
];

const CONTEXT: &[Detail] = &[
    detail("/focusedBlock/content", "커서가 있는 블록: {}", "Focused block: {}"),
    detail("/selectedBlocks", "선택한 블록: {}", "Selected blocks: {}"),
];

/// Lists what a result says in addition to its summary.
pub(super) fn of(tool: &str, data: Fields<'_>, locale: Locale) -> Vec<String> {
    let details = match tool {
        "query_protocol" => ITEM,
        "get_habit" | "add_habit" => HABIT,
        "get_streak" => STREAK,
        "get_block" => BLOCK,
        "get_current_context" => CONTEXT,
        _ => return Vec::new(),
    };
    let line = |detail: &Detail| {
        let value = shown(data.0.pointer(detail.field)?)?;
        Some(locale.pick(detail.says.0, detail.says.1).replacen("{}", &value, 1))
    };
    details.iter().filter_map(line).collect()
}

/// Shows a value on one line, or `None` if there is nothing to show.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quoted_up_to(text, MAX_CHARS)),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if !items.is_empty() => {
            let text = |item: &Value| {
                let text = item.as_str().or_else(|| item.get("content")?.as_str())?;
                Some(quoted_up_to(text, MAX_CHARS / 2))
            };
            let mut texts: Vec<_> = items.iter().filter_map(text).take(MAX_TEXTS).collect();
            let left = items.len() - texts.len();
            if left > 0 {
                texts.push(format!("(+{left})"));
            }
            Some(texts.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
