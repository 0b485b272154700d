//! Every text that a person sees is there in both languages, and none changes unnoticed.

use std::time::Duration;

use crate::protocol::{
    Bound, Breach, CallId, CancelReason, Effect, EffectResolution, Fault, InvalidId, LimitExceeded,
    Locale, Notice, PromptSize, Scope, SessionId, Text, Timestamp, UserId,
};
use serde_json::json;

fn ko(text: &Text<'_>) -> String {
    text.in_locale(Locale::KO)
}

#[test]
fn the_korean_texts_of_the_seeds_are_exact() {
    assert_eq!(ko(&Text::UnknownTool("fly_to_moon")), "알 수 없는 도구: fly_to_moon");
    assert_eq!(
        ko(&Text::BadArguments("/id: 꼭 있어야 합니다")),
        "인자 오류: /id: 꼭 있어야 합니다"
    );
    assert_eq!(ko(&Text::HandlerFailed(&Fault::PANIC)), "도구 실행 실패: Panic");
    assert_eq!(ko(&Text::HandlerFailed(&Fault::SERIALIZE)), "도구 실행 실패: Serialize");
    assert_eq!(ko(&Text::HandlerFailed(&Fault::REPLY_LOST)), "도구 실행 실패: ReplyLost");
    assert_eq!(ko(&Text::HandlerFailed(&Fault::default())), "도구 실행 실패: Error");
    assert_eq!(ko(&Text::TooManyRounds), "도구 호출 루프가 너무 길어 중단했습니다.");
    assert_eq!(ko(&Text::ModelFailed("Timeout")), "LLM 응답 실패: Timeout");
    assert_eq!(ko(&Text::Notice(Notice::SuggestClear)), "지난 대화를 정리할까요?");
}

fn all_breaches() -> Vec<Breach> {
    let breaches = vec![
        Breach::TooLong { max_bytes: 7 },
        Breach::TooDeep { max_levels: 7 },
        Breach::TooComplex,
        Breach::NotJson { line: 7, column: 7 },
        Breach::TooManyDigits,
        Breach::NotAnObject,
        Breach::Missing,
        Breach::Unknown(vec!["key".into()]),
        Breach::Type(vec!["string".into()]),
        Breach::OneOf(vec![json!("a")]),
        Breach::AtLeast(7.into()),
        Breach::AtMost(7.into()),
        Breach::Above(7.into()),
        Breach::Below(7.into()),
        Breach::MultipleOf(7.0),
        Breach::MinLength(7),
        Breach::MaxLength(7),
        Breach::MinItems(7),
        Breach::MaxItems(7),
        Breach::MinProperties(7),
        Breach::MaxProperties(7),
        Breach::Pattern("^x$".into()),
        Breach::Format("date".into()),
        Breach::NotUnique,
        Breach::NoSuchItem,
        Breach::KeyName,
        Breach::NotAllowed,
        Breach::NoForm,
        Breach::SeveralForms,
        Breach::Misfit { expected: Some("u8".into()) },
        Breach::Misfit { expected: None },
    ];
    for breach in &breaches {
        // A new variant must be added above as well.
        match breach {
            Breach::TooLong { .. }
            | Breach::TooDeep { .. }
            | Breach::TooComplex
            | Breach::NotJson { .. }
            | Breach::TooManyDigits => {}
            Breach::NotAnObject
            | Breach::Missing
            | Breach::Unknown(_)
            | Breach::Type(_)
            | Breach::OneOf(_) => {}
            Breach::AtLeast(_) | Breach::AtMost(_) | Breach::Above(_) | Breach::Below(_) => {}
            Breach::MultipleOf(_)
            | Breach::MinLength(_)
            | Breach::MaxLength(_)
            | Breach::MinItems(_) => {}
            Breach::MaxItems(_)
            | Breach::MinProperties(_)
            | Breach::MaxProperties(_)
            | Breach::Pattern(_) => {}
            Breach::Format(_)
            | Breach::NotUnique
            | Breach::NoSuchItem
            | Breach::KeyName
            | Breach::NotAllowed => {}
            Breach::NoForm | Breach::SeveralForms | Breach::Misfit { .. } => {}
        }
    }
    breaches
}

fn is_hangul(letter: char) -> bool {
    ('가'..='힣').contains(&letter)
}

#[test]
fn every_text_is_there_in_both_languages() {
    let breaches = all_breaches();
    let fault = Fault::default();
    let size = PromptSize::default();
    let sizes = [
        PromptSize { tools: 100, tools_bytes: 9, ..size },
        PromptSize { system_bytes: 9, ..size },
        PromptSize { history_bytes: 99, ..size },
        PromptSize { message_bytes: 9, ..size },
        PromptSize { results_bytes: 9, ..size },
    ];
    let mut texts = vec![
        Text::UnknownTool("x"),
        Text::NoTool,
        Text::BadArguments("x"),
        Text::HandlerFailed(&fault),
        Text::Overloaded,
        Text::TooManyCalls(8),
        Text::StoreFailed,
        Text::ToolChanged,
        Text::EndUnknown,
        Text::Unreadable,
        Text::TooManyRounds,
        Text::MessagesLeftOut(7),
        Text::ModelFailed("x"),
        Text::PromptTooLong(&sizes[0]),
        Text::PromptTooLong(&sizes[1]),
        Text::PromptTooLong(&sizes[2]),
        Text::PromptTooLong(&sizes[3]),
        Text::PromptTooLong(&sizes[4]),
        Text::TurnCutOff,
        Text::TurnInterrupted,
        Text::WaitsForModel,
        Text::Notice(Notice::SuggestClear),
        Text::Notice(Notice::EffectUnknown),
        Text::Notice(Notice::TurnLeftOut),
        Text::LeftOut,
        Text::Notice(Notice::Unreadable),
        Text::Notice(Notice::Forked),
        Text::RunTool("x"),
        Text::NotSealed,
    ];
    for (seconds, uses, resource) in
        [(86_400, 32, None), (90, 1, None), (3_600, 2, Some("account/7")), (0, 0, Some("a\"b"))]
    {
        let lifetime = Duration::from_secs(seconds);
        texts.push(Text::Standing { lifetime, uses, resource });
    }
    for effect in [Effect::None, Effect::Committed, Effect::Unknown] {
        texts.push(Text::TimedOut { seconds: 0.25, effect });
        texts.push(Text::Discarded { tool: "x", effect });
    }
    for resolution in [EffectResolution::TookEffect, EffectResolution::DidNot] {
        texts.push(Text::Resolved { tool: "x", resolution });
    }
    for reason in [
        CancelReason::Denied,
        CancelReason::Expired,
        CancelReason::Unreachable,
        CancelReason::Dismissed,
        CancelReason::Withdrawn,
    ] {
        texts.push(Text::Cancelled(reason));
    }
    texts.extend(breaches.iter().map(Text::Breach));
    let refusals = Bound::ALL.into_iter().flat_map(|bound| {
        let after = [None, Some(Duration::from_millis(2_500))];
        after.map(|retry_after| LimitExceeded { bound, scope: Scope::User, max: 8, retry_after })
    });
    // Of what is stored nothing goes away with time.
    let refusals: Vec<_> = refusals
        .filter(|refusal| refusal.bound != Bound::StoredBytes || refusal.retry_after.is_none())
        .collect();
    texts.extend(refusals.iter().map(Text::TooMany));
    let mut seen = std::collections::HashSet::new();
    for text in &texts {
        // A new variant must be added above as well.
        match text {
            Text::UnknownTool(_)
            | Text::NoTool
            | Text::BadArguments(_)
            | Text::Breach(_)
            | Text::HandlerFailed(_) => {}
            Text::TimedOut { .. } | Text::Overloaded | Text::StoreFailed => {}
            Text::EndUnknown | Text::Unreadable => {}
            Text::ToolChanged | Text::TurnCutOff | Text::TooMany(_) => {}
            Text::TurnInterrupted | Text::WaitsForModel => {}
            Text::TooManyRounds | Text::ModelFailed(_) | Text::Notice(_) => {}
            Text::PromptTooLong(_)
            | Text::MessagesLeftOut(_)
            | Text::LeftOut
            | Text::TooManyCalls(_) => {}
            Text::Cancelled(_) | Text::Discarded { .. } | Text::RunTool(_) => {}
            Text::Resolved { .. } | Text::NotSealed | Text::Standing { .. } => {}
        }
        let ko = text.in_locale(Locale::KO);
        let en = text.in_locale(Locale::EN);
        assert!(ko.chars().any(is_hangul), "{text:?}: {ko}");
        assert!(
            en.chars().any(|c| c.is_ascii_alphabetic()) && !en.chars().any(is_hangul),
            "{text:?}: {en}"
        );
        assert!(seen.insert(ko.clone()) && seen.insert(en), "{text:?} reads like another: {ko}");
    }
}

#[test]
fn a_prompt_that_is_too_long_names_its_largest_part_with_figures() {
    let size = PromptSize {
        tools: 100,
        tools_bytes: 61_234,
        system_bytes: 300,
        history_bytes: 0,
        message_bytes: 2,
        results_bytes: 0,
    };
    let text = Text::PromptTooLong(&size);
    assert_eq!(
        text.in_locale(Locale::EN),
        "the model failed: PromptTooLong. The descriptions of the tools are too long for it: offer \
         fewer tools, or give it more room (--context). In bytes: 100 tools 61234, system text 300, \
         chat before 0, message 2, results of this turn 0."
    );
    assert_eq!(
        text.in_locale(Locale::KO),
        "LLM 응답 실패: PromptTooLong. 도구 설명이 모델에게 너무 깁니다. 도구를 줄이거나 모델의 \
         컨텍스트를 늘리세요(--context). 바이트로 도구 100개 61234, 시스템 글 300, 이전 대화 0, \
         메시지 2, 이번 차례의 결과 0입니다."
    );
}

#[test]
fn a_standing_approval_says_how_far_it_reaches() {
    let told = |seconds, uses, resource, locale| {
        let lifetime = Duration::from_secs(seconds);
        Text::Standing { lifetime, uses, resource }.in_locale(locale)
    };
    for (seconds, uses, resource, en) in [
        (86_400, 32, None, "\"Always\" holds for 24 hours, at most 32 times."),
        (3_600, 1, None, "\"Always\" holds for 1 hour, once."),
        (
            5_400,
            2,
            Some("a\"b"),
            "\"Always\" holds for 90 minutes, at most 2 times, for \"a\\\"b\" only.",
        ),
        (1, 2, None, "\"Always\" holds for 1 minute, at most 2 times."),
    ] {
        assert_eq!(told(seconds, uses, resource, Locale::EN), en);
    }
    let ko = told(86_400, 32, Some("account/7"), Locale::KO);
    assert_eq!(ko, "\"항상\"은 24시간 동안 최대 32번, \"account/7\"에만 적용됩니다.");
}

#[test]
fn a_timeout_says_what_may_have_happened() {
    let told = |effect| Text::TimedOut { seconds: 0.25, effect }.in_locale(Locale::EN);
    assert_eq!(
        told(Effect::Unknown),
        "The tool did not finish within 0.25 s. It may have taken effect."
    );
    assert_eq!(told(Effect::None), "The tool did not finish within 0.25 s. Nothing was changed.");
}

#[test]
fn names_of_sessions_and_users_are_short_texts_without_control_characters() {
    let longest = "x".repeat(InvalidId::MAX_BYTES);
    for name in ["a", "mina@example.org", "세션/1", " ", &longest] {
        assert_eq!(SessionId::new(name).unwrap().as_str(), name);
        assert_eq!(UserId::new(name).unwrap().to_string(), name);
    }
    let too_long = "x".repeat(InvalidId::MAX_BYTES + 1);
    for name in ["", "a\nb", "\0", "\u{85}", &too_long] {
        assert!(SessionId::new(name).is_err() && UserId::new(name).is_err(), "{name:?}");
        assert!(serde_json::from_value::<SessionId>(json!(name)).is_err(), "{name:?}");
    }
    assert!(
        SessionId::new("")
            .unwrap_err()
            .to_string()
            .starts_with("a session's id must have 1 to 256 bytes")
    );
    let stored = serde_json::to_value(SessionId::new("a").unwrap()).unwrap();
    assert_eq!(stored, json!("a"));
}

#[test]
fn ids_of_calls_sort_by_time_and_are_stored_as_text() {
    let older = CallId::new(uuid::Uuid::now_v7());
    let newer = CallId::new(uuid::Uuid::now_v7());
    assert!(older < newer);
    let stored = serde_json::to_value(older).unwrap();
    assert_eq!(stored, json!(older.to_string()));
    assert_eq!(serde_json::from_value::<CallId>(stored).unwrap(), older);
}

#[test]
fn a_moment_saturates_at_the_end_of_time() {
    use std::time::Duration;
    let moment = Timestamp::from_millis(1_000);
    assert_eq!(moment.after(Duration::from_millis(250)).millis(), 1_250);
    assert_eq!(moment.after(Duration::MAX).millis(), i64::MAX);
}
