//! Says in one line how a call ended.

use madang::{
    language::Particle,
    ledger::{Effect, EffectResolution},
    tool::{CancelReason, Locale},
};

use super::{
    super::{
        deeds::knows,
        past_call::{End, PastCall},
    },
    reasons::reason,
};
use crate::summary::summary;

/// The failures after which the store may still have what the call wrote.
const OPEN_ENDED: [&str; 2] = ["timeout", "handler_error"];

/// Says how a call ended: what it did, or that it did not do it, and why.
pub(super) fn end(call: &PastCall, locale: Locale) -> String {
    match &call.end {
        End::Ok(data) => {
            let done = summary(&call.tool, data, locale);
            let changed = locale.pick("고쳐 주신 대로 했습니다.", "It was done with your changes.");
            if call.was_changed { format!("{done} {changed}") } else { done }
        }
        End::Failed { code, reason: said } => match call.resolution {
            Some(resolution) => {
                format!("{} {}", ended_badly(call, locale), resolved(resolution, locale))
            }
            None => {
                let is_open = OPEN_ENDED.contains(&&**code);
                let failed =
                    if is_open { ended_badly(call, locale) } else { could_not(call, locale) };
                format!("{failed} {}", reason(code, said, knows(&call.tool), locale))
            }
        },
        End::Cancelled(why) => format!("{} {}", did_not(call, locale), cancelled(*why, locale)),
        End::Discarded(effect) => discarded(call, *effect, locale),
        End::Unreadable => format!(
            "{} {}",
            ended_badly(call, locale),
            locale.pick(
                "결과를 읽을 수 없으니 직접 확인해 주세요.",
                "Its result cannot be read, so please check."
            )
        ),
    }
}

fn did_not(call: &PastCall, locale: Locale) -> String {
    let (ko, en) = call.deed.does;
    let topic = Particle::Topic.after(ko);
    locale.pick(format!("{ko}{topic} 하지 않았습니다."), format!("I did not {en}."))
}

fn could_not(call: &PastCall, locale: Locale) -> String {
    let (ko, en) = call.deed.does;
    let object = Particle::Object.after(ko);
    locale.pick(format!("{ko}{object} 하지 못했습니다."), format!("I could not {en}."))
}

/// Says that the end was not as it should be, without saying whether there was an effect.
fn ended_badly(call: &PastCall, locale: Locale) -> String {
    let (ko, en) = call.deed.does;
    let object = Particle::Object.after(ko);
    locale.pick(
        format!("{ko}{object} 제대로 끝내지 못했습니다."),
        format!("I tried to {en}, and it did not end as it should."),
    )
}

fn resolved(resolution: EffectResolution, locale: Locale) -> &'static str {
    match resolution {
        EffectResolution::TookEffect => {
            locale.pick("확인해 보니 적용되었습니다.", "It is known now that it took effect.")
        }
        EffectResolution::DidNot => locale.pick(
            "확인해 보니 적용되지 않았습니다.",
            "It is known now that it did not take effect.",
        ),
    }
}

fn cancelled(why: Option<CancelReason>, locale: Locale) -> &'static str {
    match why {
        Some(CancelReason::Denied) => {
            locale.pick("허락하지 않으셨습니다.", "You did not approve it.")
        }
        Some(CancelReason::Expired) => {
            locale.pick("제때 답이 없었습니다.", "Nobody answered in time.")
        }
        Some(CancelReason::Unreachable) => {
            locale.pick("물어볼 사람이 없었습니다.", "There was nobody to ask.")
        }
        Some(CancelReason::Dismissed) => locale
            .pick("답하시기 전에 화면이 닫혔습니다.", "The screen was closed before you answered."),
        Some(CancelReason::Withdrawn) => {
            locale.pick("시작하기 전에 대화가 멈췄습니다.", "The turn had ended before it began.")
        }
        Some(_) | None => locale.pick("취소되었습니다.", "It was cancelled."),
    }
}

fn discarded(call: &PastCall, effect: Effect, locale: Locale) -> String {
    let closed = locale.pick("화면이 닫혔습니다.", "The screen was closed.");
    let (ko, en) = call.deed.does;
    let topic = Particle::Topic.after(ko);
    let end = match effect {
        Effect::None => locale.pick(
            format!("{ko}{topic} 적용되지 않았습니다."),
            format!("I was to {en}, and that did not take effect."),
        ),
        Effect::Committed => locale.pick(
            format!("그래도 {ko}{topic} 적용되었습니다."),
            format!("I was to {en}, and that took effect."),
        ),
        Effect::Unknown => locale.pick(
            format!("{ko}{topic} 적용되었는지 알 수 없습니다. 직접 확인해 주세요."),
            format!("I was to {en}, and it is not known whether that took effect. Please check."),
        ),
    };
    format!("{closed} {end}")
}
