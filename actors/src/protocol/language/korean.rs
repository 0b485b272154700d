//! Every sentence of a runtime in Korean.

use std::{fmt::Display, time::Duration};

use super::{Language, Particle, count_words, listed, standing};
use crate::protocol::{
    Bound, Breach, CancelReason, Effect, EffectResolution, LanguageTag, LimitExceeded, Notice,
    PromptPart, PromptSize, Text,
};

/// Korean.
#[derive(Debug, Clone, Copy)]
pub struct Korean;

impl Language for Korean {
    fn tag(&self) -> LanguageTag {
        LanguageTag::KO
    }

    /// One word of four is enough, because Korean sentences have many foreign words, and foreign
    /// sentences hardly a Korean one.
    fn is_of(&self, line: &str) -> bool {
        let is_hangul =
            |letter| matches!(letter, 'ㄱ'..='ㆎ' | '가'..='힣' | '\u{1100}'..='\u{11ff}');
        let (korean, foreign) = count_words(line, |word| word.contains(is_hangul));
        korean > 0 && foreign <= 4 * korean
    }

    fn say(&self, text: &Text<'_>) -> Option<String> {
        let words = match text {
            Text::UnknownTool(name) => return Some(format!("알 수 없는 도구: {name}")),
            Text::NoTool => "도구 호출을 읽을 수 없습니다. 도구 이름과 인자를 적어 주세요.",
            Text::BadArguments(problems) => return Some(format!("인자 오류: {problems}")),
            Text::Breach(breach) => return Some(breach_words(breach)),
            Text::HandlerFailed(fault) => return Some(format!("도구 실행 실패: {}", fault.name())),
            Text::TimedOut { seconds, effect } => {
                let what = match effect {
                    Effect::Unknown => "이미 적용되었을 수도 있습니다.",
                    Effect::Committed => "그러나 적용되었습니다.",
                    Effect::None => "아무것도 바뀌지 않았습니다.",
                };
                return Some(format!("도구가 {seconds}초 안에 끝나지 않았습니다. {what}"));
            }
            Text::Overloaded => "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.",
            Text::TooMany(exceeded) => return Some(too_many(exceeded)),
            Text::TooManyCalls(max) => {
                return Some(format!(
                    "한 번에 받는 도구 호출은 {max}개까지라서 실행하지 않았습니다. 아직 필요하면 다시 불러 주세요."
                ));
            }
            Text::StoreFailed => "저장소를 쓸 수 없어 실행하지 않았습니다.",
            Text::ToolChanged => "물어본 뒤에 도구가 바뀌어 실행하지 않았습니다.",
            Text::NotSealed => {
                "기록된 승인이 이 프로그램의 것이 아니거나 바뀌어 실행하지 않았습니다."
            }
            Text::Standing { lifetime, uses, resource } => {
                return Some(standing_words(*lifetime, *uses, *resource));
            }
            Text::EndUnknown => {
                "실행이 시작되었지만 결과를 확인할 수 없습니다. 적용되었을 수도 있습니다."
            }
            Text::Unreadable => "저장된 호출 결과를 읽을 수 없습니다.",
            Text::TooManyRounds => "도구 호출 루프가 너무 길어 중단했습니다.",
            Text::PromptTooLong(size) => return Some(too_long(size)),
            Text::ModelFailed(kind) => return Some(model_failed(kind)),
            Text::MessagesLeftOut(count) => {
                return Some(format!("대화가 길어 오래된 메시지 {count}개는 빼고 답했습니다."));
            }
            Text::TurnInterrupted => "중단되었습니다. 저장소가 응답하면 이어서 진행합니다.",
            Text::WaitsForModel => "중단되었습니다. 모델과 함께 다시 시작하면 이어서 진행합니다.",
            Text::TurnCutOff => "도중에 끊겨 끝내지 못했습니다. 다시 말씀해 주세요.",
            Text::Notice(Notice::EffectUnknown) => {
                "도구를 실행하던 중에 끊겨, 적용되었는지 알 수 없습니다. 직접 확인해 주세요. 다시 실행하지는 않았습니다."
            }
            Text::Notice(Notice::TurnLeftOut) => {
                "이 메시지를 읽다가 모델이 멈췄습니다. 이제부터는 이 메시지의 내용을 빼고 대화를 이어 갑니다."
            }
            Text::Notice(Notice::Unreadable) => "여기에 있던 내용은 읽을 수 없습니다.",
            Text::Notice(Notice::Forked) => {
                "다른 대화에서 이어진 대화입니다. 그 대화에서 도구가 한 일은 그대로 남아 있으며, 기록도 그 대화에 있습니다."
            }
            Text::Notice(Notice::SuggestClear) => "지난 대화를 정리할까요?",
            Text::LeftOut => "(이 메시지는 모델을 멈추게 하여 내용을 뺐습니다.)",
            Text::Cancelled(reason) => match reason {
                CancelReason::Denied => "사용자가 허락하지 않았습니다.",
                CancelReason::Expired => "제때 답이 없어 취소했습니다.",
                CancelReason::Unreachable => "확인해 줄 사람이 없어 실행하지 않았습니다.",
                CancelReason::Dismissed => "화면을 닫아 취소했습니다.",
                CancelReason::Withdrawn => "시작하기 전에 대화가 멈춰 실행하지 않았습니다.",
            },
            Text::Discarded { tool, effect } => {
                let what = match effect {
                    Effect::None => "화면이 닫혀 결과를 버렸습니다. 적용되지 않았습니다.",
                    Effect::Committed => "화면이 닫혀 결과를 버렸지만, 적용되었습니다.",
                    Effect::Unknown => "화면이 닫혀 결과를 버렸습니다. 적용되었을 수도 있습니다.",
                };
                return Some(format!("{tool}: {what}"));
            }
            Text::Resolved { tool, resolution } => {
                let what = match resolution {
                    EffectResolution::TookEffect => "확인 결과 적용되었습니다.",
                    EffectResolution::DidNot => "확인 결과 적용되지 않았습니다.",
                };
                return Some(format!("{tool}: {what}"));
            }
            Text::RunTool(name) => {
                let object = Particle::Object.after(name);
                return Some(format!("도구 {name}{object} 실행합니다."));
            }
        };
        Some(words.to_owned())
    }
}

fn too_many(exceeded: &LimitExceeded) -> String {
    let LimitExceeded { bound, max, retry_after, .. } = exceeded;
    let what = match bound {
        Bound::AwakeSessions => "열린 대화",
        Bound::RunningTurns => "진행 중인 대화",
        Bound::ApprovalRequests => "답을 기다리는 질문",
        Bound::Inboxes => "열린 승인함",
        Bound::RunningCalls => "실행 중인 도구",
        Bound::QueuedBytes => "저장을 기다리는 바이트",
        Bound::WaitingMessages => "기다리는 메시지",
        // Waiting makes no room.
        Bound::StoredBytes => {
            return format!(
                "저장된 내용이 한도({max}바이트)에 이르렀습니다. 한도를 늘리거나 저장된 내용을 지운 뒤에 다시 시도해 주세요."
            );
        }
    };
    let when = retry_after
        .map_or("잠시 뒤".to_owned(), |after| format!("약 {}초 뒤", after.as_secs().max(1)));
    format!("{what} 수가 한도({max})에 이르렀습니다. {when}에 다시 시도해 주세요.")
}

fn model_failed(kind: &str) -> String {
    let what = match kind {
        "Repetition" => {
            ". 같은 말을 되풀이해 멈췄습니다. 다른 말로 다시 물어보거나, 대화를 정리하고 물어보세요."
        }
        "AnswerTooLong" => {
            ". 쓸 수 있는 답을 하기 전에 한도에 닿았습니다. 한 번에 하나씩, 더 짧게 부탁해 보세요."
        }
        "ConnectionLost" => ". 연결할 수 없거나 연결이 끊겼습니다. 다시 시도해 보세요.",
        "Unauthorized" => ". 제공자가 키를 받아들이지 않습니다.",
        "Refused" => ". 제공자가 답하기를 거절했습니다.",
        "Http404" => ". 제공자에게 그런 모델이 없거나 주소가 틀렸습니다.",
        _ => "",
    };
    format!("LLM 응답 실패: {kind}{what}")
}

fn too_long(size: &PromptSize) -> String {
    let what = match size.largest() {
        PromptPart::Tools => {
            "도구 설명이 모델에게 너무 깁니다. 도구를 줄이거나 모델의 컨텍스트를 늘리세요(--context)."
        }
        PromptPart::System => {
            "시스템 글이 모델에게 너무 깁니다. 줄이거나 모델의 컨텍스트를 늘리세요(--context)."
        }
        PromptPart::History => {
            "대화가 모델에게 너무 깁니다. 정리하고 다시 물어보거나 모델의 컨텍스트를 늘리세요(--context)."
        }
        PromptPart::Message => {
            "메시지가 모델에게 너무 깁니다. 짧게 쓰거나 모델의 컨텍스트를 늘리세요(--context)."
        }
        PromptPart::Results => {
            "도구의 결과가 모델에게 너무 깁니다. 한 번에 적게 부탁하거나 모델의 컨텍스트를 늘리세요(--context)."
        }
    };
    let PromptSize {
        tools,
        tools_bytes,
        system_bytes,
        history_bytes,
        message_bytes,
        results_bytes,
    } = size;
    format!(
        "LLM 응답 실패: PromptTooLong. {what} 바이트로 도구 {tools}개 {tools_bytes}, 시스템 글 {system_bytes}, 이전 대화 {history_bytes}, 메시지 {message_bytes}, 이번 차례의 결과 {results_bytes}입니다."
    )
}

fn standing_words(lifetime: Duration, uses: u32, resource: Option<&str>) -> String {
    let (count, is_hours, resource) = standing(lifetime, resource);
    let unit = if is_hours { "시간" } else { "분" };
    let only = resource.map_or_else(String::new, |resource| format!(", {resource}에만"));
    format!("\"항상\"은 {count}{unit} 동안 최대 {uses}번{only} 적용됩니다.")
}

fn breach_words(breach: &Breach) -> String {
    let around =
        |before: &str, middle: &dyn Display, after: &str| format!("{before}{middle}{after}");
    let words = match breach {
        Breach::TooLong { max_bytes } => return around("", max_bytes, "바이트를 넘습니다"),
        Breach::TooDeep { max_levels } => return around("", max_levels, "단계보다 깊습니다"),
        Breach::TooComplex => "검사하기에 너무 복잡합니다",
        Breach::NotJson { line, column } => {
            return format!("올바른 JSON이 아닙니다 ({line}행 {column}열)");
        }
        Breach::TooManyDigits => "정수가 64비트를 넘습니다",
        Breach::NotAnObject => "JSON 객체여야 합니다",
        Breach::Missing => "꼭 있어야 합니다",
        Breach::Unknown(keys) => return around("허용되지 않은 키: ", &listed(keys), ""),
        Breach::Type(types) => return around("", &listed(types), " 형식이어야 합니다"),
        Breach::OneOf(values) => return around("다음 중 하나여야 합니다: ", &listed(values), ""),
        Breach::AtLeast(bound) => return around("", bound, " 이상이어야 합니다"),
        Breach::AtMost(bound) => return around("", bound, " 이하여야 합니다"),
        Breach::Above(bound) => return around("", bound, "보다 커야 합니다"),
        Breach::Below(bound) => return around("", bound, "보다 작아야 합니다"),
        Breach::MultipleOf(factor) => return around("", factor, "의 배수여야 합니다"),
        Breach::MinLength(bound) => return around("", bound, "자 이상이어야 합니다"),
        Breach::MaxLength(bound) => return around("", bound, "자 이하여야 합니다"),
        Breach::MinItems(bound) => return around("항목이 ", bound, "개 이상이어야 합니다"),
        Breach::MaxItems(bound) => return around("항목이 ", bound, "개 이하여야 합니다"),
        Breach::MinProperties(bound) => return around("키가 ", bound, "개 이상이어야 합니다"),
        Breach::MaxProperties(bound) => return around("키가 ", bound, "개 이하여야 합니다"),
        Breach::Pattern(pattern) => return around("", pattern, " 패턴에 맞아야 합니다"),
        Breach::Format(format) => return around("올바른 ", format, " 값이 아닙니다"),
        Breach::NotUnique => "같은 항목이 있습니다",
        Breach::NoSuchItem => "필요한 항목이 없습니다",
        Breach::KeyName => "키 이름이 올바르지 않습니다",
        Breach::NotAllowed => "허용되지 않습니다",
        Breach::NoForm => "허용된 형태가 아닙니다",
        Breach::SeveralForms => "여러 형태에 동시에 맞습니다",
        Breach::Misfit { expected: Some(expected) } => {
            return around("올바르지 않습니다. 필요한 값: ", expected, "");
        }
        Breach::Misfit { expected: None } => "올바르지 않습니다",
    };
    words.to_owned()
}
