//! A tool call in one line: `search_catalog {"category":"sleep"} -> 3 items`.

use madang::{Approval, CallRecord, Effect, Locale, Text as LibraryText, ToolOutcome, plain};
use serde_json::Value;

use super::printable::printable;
use crate::texts::Text;

/// So many characters of arguments or data are shown.
const MAX_CHARS: usize = 100;

/// The call with its arguments and what became of it.
pub(super) fn summary(record: &CallRecord, locale: Locale) -> String {
    let name = plain(&record.name);
    let arguments = short(&json(&record.arguments));
    let approval = approval(record, locale).map_or_else(String::new, |words| format!(" {words}"));
    format!("{name} {arguments}{approval} -> {}", ending(record, locale))
}

/// What the person has to do with it, where that is more than a yes.
fn approval(record: &CallRecord, locale: Locale) -> Option<String> {
    let text = match (&record.asked, record.approval?) {
        (Some(asked), _) => return Some(Text::ChangedFrom(&short(&json(asked))).in_locale(locale)),
        (None, Approval::Granted { .. }) => Text::RanByGrant,
        (None, Approval::Once | Approval::Always { .. } | Approval::Edited) => return None,
    };
    Some(text.in_locale(locale))
}

fn ending(record: &CallRecord, locale: Locale) -> String {
    // What a tool has to say to the person goes before the data, which is for the model.
    let feedback = record.outcome.as_ref().and_then(|outcome| outcome.metadata().get("feedback"));
    if let Some(feedback) = feedback.and_then(Value::as_str) {
        return printable(feedback).into_owned();
    }
    match &record.outcome {
        Some(ToolOutcome::Ok(ok)) => given(&ok.data, locale),
        Some(ToolOutcome::Err(error)) => {
            format!("{}: {}", printable(&error.code), printable(&error.reason))
        }
        Some(ToolOutcome::Cancelled(cancelled)) => {
            let reason = LibraryText::Cancelled(cancelled.reason).in_locale(locale);
            match &cancelled.message {
                Some(message) => format!("{reason} \"{}\"", plain(message)),
                None => reason,
            }
        }
        None => discarded(record.effect, locale),
    }
}

/// How many items, where it is a list; else the data.
fn given(data: &Value, locale: Locale) -> String {
    let listed = data.as_array().or_else(|| data.get("items")?.as_array());
    let Some(items) = listed else { return short(&json(data)) };
    let total = data.get("count").and_then(Value::as_u64).unwrap_or(items.len() as u64);
    Text::Items { shown: items.len() as u64, total }.in_locale(locale)
}

fn discarded(effect: Effect, locale: Locale) -> String {
    let words = LibraryText::Discarded { tool: "", effect }.in_locale(locale);
    words.trim_start_matches(": ").to_owned()
}

pub(super) fn json(value: &Value) -> String {
    // Where the arguments were refused they are the raw text itself.
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn short(text: &str) -> String {
    let one_line = text.replace(['\n', '\t'], " ");
    let shown = plain(&one_line);
    match shown.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use madang::{CallId, CallResult, CancelReason, Timestamp};
    use serde_json::json;

    use super::*;

    fn line(arguments: Value, outcome: Option<ToolOutcome>) -> String {
        let record = CallRecord {
            id: CallId::new(uuid::Uuid::nil()),
            name: "look".into(),
            arguments,
            asked: None,
            approval: None,
            effect: Effect::Committed,
            settled_by: None,
            result: if outcome.is_some() { CallResult::Shown } else { CallResult::Discarded },
            outcome,
            proposed_at: Timestamp::from_millis(0),
            ended_at: Timestamp::from_millis(0),
        };
        summary(&record, Locale::En)
    }

    fn check(arguments: Value, outcome: Option<ToolOutcome>, expected: &Expect) {
        expected.assert_eq(&line(arguments, outcome));
    }

    #[test]
    fn a_call_is_one_line() {
        let arguments = json!({"category": "sleep"});
        let list = ToolOutcome::ok(json!({"count": 3, "items": [1, 2, 3]}));
        let part = ToolOutcome::ok(json!({"count": 7, "items": [1, 2, 3]}));
        check(json!({"limit": 3}), Some(part), &expect![[r#"look {"limit":3} -> 3 of 7 items"#]]);
        check(arguments.clone(), Some(list), &expect![[r#"look {"category":"sleep"} -> 3 items"#]]);
        check(
            json!({}),
            Some(ToolOutcome::ok(json!({"habit_id": 7}))),
            &expect![[r#"look {} -> {"habit_id":7}"#]],
        );
        check(
            json!("{not\njson\u{1b}"),
            Some(ToolOutcome::error("validation", "invalid arguments")),
            &expect![[r#"look {not json\u{1b} -> validation: invalid arguments"#]],
        );
        let denied = ToolOutcome::cancelled(CancelReason::Denied);
        let cut =
            format!(r#"look {{"a":"{}… -> You did not allow it."#, "가".repeat(MAX_CHARS - 6));
        assert_eq!(line(json!({"a": "가".repeat(200)}), Some(denied)), cut);
        let told = ToolOutcome::ok(json!({"id": 7}));
        check(
            json!({}),
            Some(told.with_metadata("feedback", json!("✅ 완료했습니다"))),
            &expect!["look {} -> ✅ 완료했습니다"],
        );
        check(
            json!({}),
            None,
            &expect![
                "look {} -> the screen was closed and the result discarded, but it took effect."
            ],
        );
    }
}
