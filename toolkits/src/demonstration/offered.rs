//! Offers the model the tools that it knows, and says that it does not know the others.

use std::sync::Arc;

use madang::{
    model::PromptMessage,
    tool::{Locale, ToolSpec},
};

use super::deeds::knows;

/// The tools of a session, as far as the model knows them.
#[derive(Debug)]
pub(super) enum Offered {
    /// It knows all of them, or there are none.
    All(Arc<[ToolSpec]>),
    /// It knows only these.
    Some(Arc<[ToolSpec]>),
    /// It knows none of them.
    None,
}

impl Offered {
    pub(super) fn of(tools: &Arc<[ToolSpec]>) -> Self {
        let known = || tools.iter().filter(|tool| knows(&tool.name));
        match known().count() {
            count if count == tools.len() => Self::All(Arc::clone(tools)),
            0 => Self::None,
            _ => Self::Some(known().cloned().collect()),
        }
    }
}

/// Says that it knows none of the tools.
pub(super) fn knows_none(locale: Locale) -> &'static str {
    locale.pick(
        "저는 데모 모델이라 마당의 습관 도구와 노트 도구만 배웠고, 이 대화의 도구는 하나도 모릅니다. 다른 모델을 골라 주세요.",
        "I am a demonstration model: I have learnt only Madang's tools for habits and notes, and none of the tools of this chat. Please choose another model.",
    )
}

/// Says that it does not know some of the tools.
pub(super) fn knows_some(locale: Locale) -> &'static str {
    locale.pick(
        "저는 데모 모델이라 마당의 습관 도구와 노트 도구만 배웠고, 이 대화의 다른 도구는 모릅니다.",
        "I am a demonstration model: I have learnt only Madang's tools for habits and notes, and do not know the other tools of this chat.",
    )
}

/// Returns whether the model has said nothing yet in a chat.
pub(super) fn is_first_answer(messages: &[PromptMessage]) -> bool {
    !messages.iter().any(|message| matches!(message, PromptMessage::Model { .. }))
}
