//! Tests what is said of calls that did not do their work: never that they did, and not that they
//! did not where nobody knows.

use std::slice;

use expect_test::{Expect, expect};
use madang::{
    language::Text,
    ledger::{Effect, EffectResolution},
    tool::{CancelReason, Locale},
};
use serde_json::json;

use super::{LOCALES, PLACEHOLDERS, called, check_language, specs, told};

/// The codes of the runtime and of the toolkits.
const CODES: [&str; 24] = [
    "validation",
    "unknown_tool",
    "overloaded",
    "store",
    "timeout",
    "handler_error",
    "not_found",
    "r3_quota",
    "r3_frame",
    "r5_duplicate",
    "r7_avoidance",
    "r8_xor",
    "title_taken",
    "has_pages",
    "page_gone",
    "newline",
    "too_long",
    "too_deep",
    "page_full",
    "cycle",
    "not_sibling",
    "no_page_open",
    "no_history",
    "a_code_of_tomorrow",
];

const REASONS: [&str; 5] = [
    "The tool did not finish within 5 s. It may have taken effect.",
    "도구가 5초 안에 끝나지 않았습니다. 이미 적용되었을 수도 있습니다.",
    "invalid arguments: /habit_id: is required",
    "인자 오류: /habit_id: 필수입니다",
    "",
];

const CANCELLED: [CancelReason; 5] = [
    CancelReason::Denied,
    CancelReason::Expired,
    CancelReason::Unreachable,
    CancelReason::Dismissed,
    CancelReason::Withdrawn,
];

/// Lists the envelopes of all ends but success.
fn envelopes(tool: &str) -> Vec<String> {
    let mut all = Vec::new();
    for code in CODES {
        all.extend(
            REASONS.map(|reason| json!({ "status": "error", "code": code, "reason": reason })),
        );
    }
    for reason in CANCELLED {
        let reason = reason.envelope_text();
        all.push(json!({ "status": "cancelled", "reason": reason }));
        all.push(json!({ "status": "cancelled", "reason": reason, "message": "not today" }));
    }
    for effect in [Effect::None, Effect::Committed, Effect::Unknown] {
        for locale in LOCALES {
            let reason = Text::Discarded { tool, effect }.in_locale(locale);
            all.push(json!({ "status": "discarded", "effect": effect, "reason": reason }));
        }
        all.push(json!({ "status": "error", "effect": effect, "_truncated": true }));
    }
    for resolution in [EffectResolution::TookEffect, EffectResolution::DidNot] {
        for locale in LOCALES {
            let settled = Text::Resolved { tool, resolution }.in_locale(locale);
            all.push(json!({ "status": "error", "settled": settled, "code": "timeout", "reason": REASONS[0] }));
        }
    }
    all.extend([
        json!({ "status": "cancelled", "reason": "other" }),
        json!({ "status": "new" }),
        json!(7),
    ]);
    let mut all: Vec<_> = all.iter().map(ToString::to_string).collect();
    all.push("{\"status\":".to_owned());
    all
}

#[tokio::test]
async fn each_end_of_each_tool_is_told_in_the_language_of_the_person() {
    let names = specs().into_iter().map(|spec| spec.name.to_string());
    for name in names.chain(["send_mail".to_owned()]) {
        for envelope in envelopes(&name) {
            for locale in LOCALES {
                let call = called(&name, &json!({}), &envelope);
                let mut texts = Vec::new();
                for placeholder in PLACEHOLDERS {
                    let text = told(placeholder, slice::from_ref(&call), locale).await;
                    check_language(&text, locale, &format!("{name} {envelope}"));
                    texts.push(text);
                }
                assert!(
                    texts[0] != texts[1] && texts[1] != texts[2] && texts[0] != texts[2],
                    "{texts:?}"
                );
            }
        }
    }
}

async fn check(envelope: serde_json::Value, expected: Expect) {
    let call = called("add_habit", &json!({}), &envelope.to_string());
    let mut texts = Vec::new();
    for locale in LOCALES {
        texts.push(told("{result}", slice::from_ref(&call), locale).await);
    }
    expected.assert_eq(&texts.join("\n"));
}

#[tokio::test]
async fn it_is_told_whether_a_call_took_effect() {
    let reason = CancelReason::Denied.envelope_text();
    check(json!({ "status": "cancelled", "reason": reason }), expect![[r#""#]]).await;
    let reason = CancelReason::Expired.envelope_text();
    check(json!({ "status": "cancelled", "reason": reason }), expect![[r#""#]]).await;
    let reason = "만들기 습관은 동시에 3개까지만 할 수 있습니다.";
    check(json!({ "status": "error", "code": "r3_quota", "reason": reason }), expect![[r#""#]])
        .await;
    check(json!({ "status": "error", "code": "timeout", "reason": REASONS[0] }), expect![[r#""#]])
        .await;
    let settled = Text::Resolved { tool: "add_habit", resolution: EffectResolution::TookEffect };
    let settled = settled.in_locale(Locale::KO);
    check(
        json!({ "status": "error", "settled": settled, "code": "timeout", "reason": "" }),
        expect![[r#""#]],
    )
    .await;
    for (effect, expected) in
        [("none", expect![[r#""#]]), ("committed", expect![[r#""#]]), ("unknown", expect![[r#""#]])]
    {
        check(json!({ "status": "discarded", "effect": effect, "reason": "" }), expected).await;
    }
}

#[tokio::test]
async fn a_change_by_the_person_is_told() {
    let data = json!({ "habit_id": 7, "title": "Walk" });
    let envelope = json!({ "status": "ok", "user_changed_arguments_to": {}, "data": data });
    check(envelope, expect![[r#""#]]).await;
}

#[tokio::test]
async fn without_results_it_is_told_that_there_are_none() {
    for locale in LOCALES {
        let mut texts = Vec::new();
        for placeholder in PLACEHOLDERS {
            let text = told(placeholder, &[], locale).await;
            check_language(&text, locale, placeholder);
            texts.push(text);
        }
        assert!(texts[0] != texts[1] && texts[1] != texts[2] && texts[0] != texts[2], "{texts:?}");
    }
    let texts = [told("{result}", &[], Locale::EN).await, told("{which}", &[], Locale::KO).await];
    expect![[r#""#]].assert_eq(&texts.join("\n"));
}
