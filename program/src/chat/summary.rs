//! Describes a tool call in one line: its end, its effect or the reason for none, and its tool.

use madang::{
    event::{plain, quoted},
    language::Text as LibraryText,
    ledger::{Approval, CallRecord, Effect},
    tool::{ToolOutcome, ToolProgress},
};
use serde_json::Value;

use crate::{language::UiLanguage, texts::Text};

/// The characters of arguments that are shown if no words describe them.
const MAX_CHARS: usize = 100;

/// The marks of a call's end. Tools begin their own texts with the first two.
const DONE: &str = "✅";
const FAILED: &str = "❌";
const CANCELLED: &str = "🚫";
const DISCARDED: &str = "❗";

/// Describes the end of the call.
pub(super) fn summary(record: &CallRecord, locale: UiLanguage) -> String {
    let (mark, words) = ending(record, locale);
    let approval = approval(record, locale).map_or_else(String::new, |words| format!(" {words}"));
    format!("{mark} {words} · {}{approval}", plain(&record.name))
}

/// Describes the person's part, if it is more than a plain approval.
fn approval(record: &CallRecord, locale: UiLanguage) -> Option<String> {
    let text = match (&record.asked, record.approval?) {
        (Some(_), _) => Text::Changed,
        (None, Approval::Standing { .. }) => Text::RanByStandingApproval,
        (None, Approval::Once | Approval::Always { .. } | Approval::Edited) => return None,
    };
    Some(text.in_locale(locale))
}

fn ending(record: &CallRecord, locale: UiLanguage) -> (&'static str, String) {
    match &record.outcome {
        Some(ToolOutcome::Ok(ok)) => {
            // A tool's text for the person comes before the data, which is for the model.
            let feedback = ok.metadata.get("feedback").and_then(Value::as_str);
            let words = feedback.map_or_else(
                || madang_toolkits::summary::summary(&record.name, &ok.data, locale.locale()),
                |words| plain(words.trim_start_matches(DONE).trim()).into_owned(),
            );
            (DONE, words)
        }
        Some(ToolOutcome::Err(error)) => {
            (FAILED, format!("{}{}", locale.pick("오류: ", "Error: "), plain(&error.reason)))
        }
        Some(ToolOutcome::Cancelled(cancelled)) => {
            let reason = LibraryText::Cancelled(cancelled.reason).in_locale(locale.locale());
            let message = cancelled.message.as_ref();
            let said = message.map_or_else(String::new, |message| format!(" {}", quoted(message)));
            (CANCELLED, format!("{reason}{said}"))
        }
        None => (DISCARDED, discarded(record.effect, locale)),
    }
}

fn discarded(effect: Effect, locale: UiLanguage) -> String {
    let words = LibraryText::Discarded { tool: "", effect }.in_locale(locale.locale());
    words.trim_start_matches(": ").to_owned()
}

pub(super) fn json(value: &Value) -> String {
    // Refused arguments are the raw text itself.
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

/// Says how far a call has come, beside the sign that work is going on.
pub(super) fn how_far(ToolProgress { done, total, message }: &ToolProgress) -> String {
    let share = total.map_or_else(|| done.to_string(), |total| format!("{done}/{total}"));
    match message {
        Some(message) => format!("{share} {}", short(message)),
        None => share,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use madang::{CallId, Timestamp, ledger::CallResult, tool::CancelReason};
    use serde_json::json;

    use super::*;

    fn line(name: &str, outcome: Option<ToolOutcome>, locale: UiLanguage) -> String {
        let record = CallRecord {
            model: None,
            opaque: None,
            id: CallId::new(uuid::Uuid::nil()),
            name: name.into(),
            arguments: json!({ "a": "{\"b\":1}" }).into(),
            asked: None,
            approval: None,
            effect: Effect::Committed,
            resolved_by: None,
            result: if outcome.is_some() { CallResult::Shown } else { CallResult::Discarded },
            outcome,
            proposed_at: Timestamp::from_millis(0),
            ended_at: Timestamp::from_millis(0),
        };
        summary(&record, locale)
    }

    fn check(name: &str, data: Value, expected: &Expect) {
        let outcome = ToolOutcome::ok(data);
        let line = |locale| line(name, Some(outcome.clone()), locale);
        expected.assert_eq(&format!("{}\n{}\n", line(UiLanguage::Ko), line(UiLanguage::En)));
    }

    #[test]
    fn what_a_tool_gave_is_said_in_words() {
        check(
            "search_catalog",
            json!({ "count": 7, "items": [{}, {}, {}] }),
            &expect![[r#"
                ✅ 카탈로그에서 7개 중 3개를 찾았습니다. · search_catalog
                ✅ Found 3 of 7 items in the catalogue. · search_catalog
            "#]],
        );
        check(
            "add_habit",
            json!({ "habit_id": 7, "title": "Walk' now" }),
            &expect![[r#"
                ✅ 7번 습관 'Walk\' now'을(를) 추가했습니다. · add_habit
                ✅ Added habit 7, 'Walk\' now'. · add_habit
            "#]],
        );
        check(
            "add_habit",
            json!({ "habit_id": 7, "title": "Walk", "already_active": true }),
            &expect![[r#"
                ✅ 'Walk'은(는) 이미 7번 습관입니다. 바뀐 것이 없습니다. · add_habit
                ✅ 'Walk' is habit 7 already; nothing has changed. · add_habit
            "#]],
        );
        check(
            "log_tracker_entry",
            json!({ "habit_id": 7, "date": "2026-03-09", "value": "done" }),
            &expect![[r#"
                ✅ 7번 습관의 2026-03-09 기록을 완료로 남겼습니다. · log_tracker_entry
                ✅ Recorded habit 7 as done for 2026-03-09. · log_tracker_entry
            "#]],
        );
        check(
            "log_tracker_entry",
            json!({ "habit_id": 7, "date": "2026-03-09", "value": "blank" }),
            &expect![[r#"
                ✅ 7번 습관의 2026-03-09 기록을 빈칸으로 남겼습니다. · log_tracker_entry
                ✅ Recorded habit 7 as blank for 2026-03-09. · log_tracker_entry
            "#]],
        );
        check(
            "get_streak",
            json!({ "title": "Walk", "current": 1 }),
            &expect![[r#"
                ✅ 'Walk': 1일째 이어 가고 있습니다. · get_streak
                ✅ 'Walk': 1 day in a row. · get_streak
            "#]],
        );
        check(
            "get_current_context",
            json!({ "page": null }),
            &expect![[r#"
                ✅ 열린 페이지가 없습니다. · get_current_context
                ✅ No page is open. · get_current_context
            "#]],
        );
        check(
            "list_pages",
            json!({ "count": 2, "total": 9, "items": [{}, {}] }),
            &expect![[r#"
                ✅ 페이지를 9개 중 2개 찾았습니다. · list_pages
                ✅ Pages: 2 of 9 items. · list_pages
            "#]],
        );
    }

    #[test]
    fn each_outcome_of_each_tool_is_one_line_in_words_in_the_language_of_the_person() {
        let tools = [madang_toolkits::life::tools(), madang_toolkits::notes::tools()].concat();
        let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
        assert!(names.len() >= 27, "{names:?}");
        let denied = ToolOutcome::cancelled(CancelReason::Denied);
        let outcomes = |locale: UiLanguage| {
            let reason = locale.pick("그런 것이 없습니다.\n{\"x\":1}", "There is none.\n[1]");
            let feedback = locale.pick("✅ 완료했습니다", "✅ Done");
            [
                (DONE, Some(ToolOutcome::ok(json!({ "id": 7 })))),
                (DONE, Some(ToolOutcome::ok(json!({ "items": [{ "a": 1 }] })))),
                (DONE, Some(ToolOutcome::ok(json!({})).with_metadata("feedback", json!(feedback)))),
                (FAILED, Some(ToolOutcome::error("not_found", reason))),
                (CANCELLED, Some(denied.clone())),
                (DISCARDED, None),
            ]
        };
        let is_hangul = |letter: char| ('가'..='힣').contains(&letter);
        for (name, locale) in
            names.iter().flat_map(|name| [(name, UiLanguage::Ko), (name, UiLanguage::En)])
        {
            for (mark, outcome) in outcomes(locale) {
                let line = line(name, outcome, locale);
                assert!(line.starts_with(mark) && line.ends_with(&format!(" · {name}")), "{line}");
                assert_eq!(line.lines().count(), 1, "{line}");
                assert_eq!(line.contains(is_hangul), locale == UiLanguage::Ko, "{line}");
                assert!(!line.contains("\"id\"") && !line.contains("not_found"), "{line}");
            }
        }
    }

    #[test]
    fn a_reason_cannot_begin_a_line_of_its_own_and_a_message_is_quoted() {
        let odd = ToolOutcome::error("x", "none\n✅ Done · add_habit\u{1b}");
        assert_eq!(
            line("look", Some(odd), UiLanguage::En),
            r"❌ Error: none\u{a}✅ Done · add_habit\u{1b} · look"
        );
        let message = "no'. ✅ Done";
        let denied = line("look", Some(ToolOutcome::denied(Some(message.into()))), UiLanguage::En);
        assert!(denied.contains(r"'no\'. ✅ Done'"), "{denied}");
        assert_eq!(
            line("look", None, UiLanguage::En),
            "❗ the screen was closed and the result discarded, but it took effect. · look"
        );
    }

    #[test]
    fn progress_is_one_line_of_numbers_and_a_stranger_s_words() {
        let words = ToolProgress::new(2.0).out_of(3.0).saying("half\n\u{1b}[2Jway");
        assert_eq!(how_far(&words), "2/3 half \\u{1b}[2Jway");
        assert_eq!(how_far(&ToolProgress::new(0.5)), "0.5");
    }
}
