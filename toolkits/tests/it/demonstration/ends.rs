//! Tests what is said of calls that did not do their work: never that they did, and not that they
//! did not where nobody knows.

use std::slice;

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

/// Compares what is said in Korean and in English of a call that ended so.
async fn check(envelope: serde_json::Value, ko: &str, en: &str) {
    let call = called("add_habit", &json!({}), &envelope.to_string());
    for (locale, expected) in LOCALES.into_iter().zip([ko, en]) {
        assert_eq!(told("{result}", slice::from_ref(&call), locale).await, expected);
    }
}

#[tokio::test]
async fn it_is_told_whether_a_call_took_effect() {
    let reason = CancelReason::Denied.envelope_text();
    check(
        json!({ "status": "cancelled", "reason": reason }),
        "습관 추가는 하지 않았습니다. 허락하지 않으셨습니다.",
        "I did not add the habit. You did not approve it.",
    )
    .await;
    check(
        json!({ "status": "error", "code": "r3_quota", "reason": "만들기 습관은 3개까지입니다." }),
        "습관 추가를 하지 못했습니다. 만들기 습관은 3개까지입니다.",
        "I could not add the habit. The tool refused it.",
    )
    .await;
    check(
        json!({ "status": "error", "code": "timeout", "reason": REASONS[0] }),
        "습관 추가를 제대로 끝내지 못했습니다. 도구에 문제가 있었습니다. 적용되었는지 직접 확인해 주세요.",
        "I tried to add the habit, and it did not end as it should. \
         The tool did not finish within 5 s. It may have taken effect.",
    )
    .await;
    let settled = Text::Resolved { tool: "add_habit", resolution: EffectResolution::TookEffect };
    let settled = settled.in_locale(Locale::KO);
    check(
        json!({ "status": "error", "settled": settled, "code": "timeout", "reason": "" }),
        "습관 추가를 제대로 끝내지 못했습니다. 확인해 보니 적용되었습니다.",
        "I tried to add the habit, and it did not end as it should. It is known now that it took effect.",
    )
    .await;
    for (effect, ko, en) in [
        (
            "none",
            "화면이 닫혔습니다. 습관 추가는 적용되지 않았습니다.",
            "The screen was closed. I was to add the habit, and that did not take effect.",
        ),
        (
            "committed",
            "화면이 닫혔습니다. 그래도 습관 추가는 적용되었습니다.",
            "The screen was closed. I was to add the habit, and that took effect.",
        ),
        (
            "unknown",
            "화면이 닫혔습니다. 습관 추가는 적용되었는지 알 수 없습니다. 직접 확인해 주세요.",
            "The screen was closed. I was to add the habit, and it is not known whether that took effect. \
             Please check.",
        ),
    ] {
        check(json!({ "status": "discarded", "effect": effect, "reason": "" }), ko, en).await;
    }
}

#[tokio::test]
async fn a_change_by_the_person_is_told() {
    let data = json!({ "habit_id": 7, "title": "Walk" });
    check(
        json!({ "status": "ok", "user_changed_arguments_to": {}, "data": data }),
        "7번 습관 'Walk'을(를) 추가했습니다. 고쳐 주신 대로 했습니다.",
        "Added habit 7, 'Walk'. It was done with your changes.",
    )
    .await;
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
    let told = told("{result}", &[], Locale::EN).await;
    assert_eq!(told, "I did nothing this time. Please say again what I am to do.");
}
