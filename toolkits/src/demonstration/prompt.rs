//! Writes the prompt that the model reads: with its own placeholders in place of what code wrote
//! for them.

use std::sync::Arc;

use madang::{model::PromptMessage, tool::Locale};

use super::{
    offered::knows_some, past_call::PastCalls, placeholder::Placeholder, rendering::render,
    speech::without,
};

/// The messages at the end of a chat that are looked at. The model has no room for more.
const MAX_MESSAGES: usize = 96;

/// Restores the answers as the model wrote them. Returns the messages themselves if all of them are
/// as it wrote them.
pub(super) fn restored(messages: &Arc<Vec<PromptMessage>>) -> Arc<Vec<PromptMessage>> {
    let begin = messages.len().saturating_sub(MAX_MESSAGES);
    let changed = (begin..messages.len()).filter_map(|place| {
        let PromptMessage::Model { text } = &messages[place] else { return None };
        Some((place, written(text, &messages[..place])?))
    });
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() {
        return Arc::clone(messages);
    }
    let mut restored = Vec::clone(messages);
    for (place, text) in changed {
        restored[place] = PromptMessage::Model { text };
    }
    Arc::new(restored)
}

/// Returns what the model wrote for an answer, if that is something else.
fn written(answer: &str, before: &[PromptMessage]) -> Option<Arc<str>> {
    // The language may have changed since.
    let locales = [Locale::KO, Locale::EN];
    let own = locales.into_iter().find_map(|locale| without(knows_some(locale), answer));
    let answer = own.unwrap_or(answer);
    let calls = PastCalls::read(before);
    let placeholder = Placeholder::ALL.into_iter().find(|placeholder| {
        locales.into_iter().any(|locale| render(*placeholder, &calls, locale) == answer)
    });
    placeholder.map(|placeholder| placeholder.as_str().into()).or_else(|| own.map(Into::into))
}
