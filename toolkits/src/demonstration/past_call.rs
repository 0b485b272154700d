//! Reads from a prompt how the calls of a turn ended.

use std::{collections::HashMap, sync::Arc};

use madang::{
    language::Text,
    ledger::{Effect, EffectResolution},
    model::PromptMessage,
    tool::{CancelReason, Locale},
};
use serde_json::Value;

use super::deeds::{self, Deed, Entries};

/// A call of a turn, as the model reads of it.
#[derive(Debug)]
pub(super) struct PastCall {
    pub(super) tool: Arc<str>,
    pub(super) deed: Deed,
    /// The entries before the part of the list that was asked for.
    pub(super) offset: u64,
    pub(super) end: End,
    /// What an unknown effect turned out to be.
    pub(super) resolution: Option<EffectResolution>,
    /// Whether the person changed the arguments before approving the call.
    pub(super) was_changed: bool,
}

/// Adds the title of a habit to the results that have only its number, if an earlier result of the
/// turn has it.
fn add_titles(calls: &mut [PastCall]) {
    let mut titles: HashMap<u64, Value> = HashMap::new();
    for call in calls {
        let End::Ok(Value::Object(data)) = &mut call.end else { continue };
        if call.deed.lists == Some(Entries::Habits) {
            let items = data.get("items").and_then(Value::as_array).into_iter().flatten();
            let title =
                |item: &Value| Some((item["habit_id"].as_u64()?, item.get("title")?.clone()));
            titles.extend(items.filter_map(title));
        } else if let Some(title) = data.get("habit_id").and_then(|id| titles.get(&id.as_u64()?)) {
            data.entry("title").or_insert_with(|| title.clone());
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum End {
    Ok(Value),
    Failed {
        code: String,
        reason: String,
    },
    /// It did not run. The reason is `None` if it is not one of ours.
    Cancelled(Option<CancelReason>),
    /// The screen was closed, and the result discarded.
    Discarded(Effect),
    /// It cannot be read how it ended.
    Unreadable,
}

/// The reasons for which a call does not run.
const CANCELLED: [CancelReason; 5] = [
    CancelReason::Denied,
    CancelReason::Expired,
    CancelReason::Unreachable,
    CancelReason::Dismissed,
    CancelReason::Withdrawn,
];

/// The calls that an answer tells of.
#[derive(Debug)]
pub(super) struct PastCalls {
    pub(super) calls: Vec<PastCall>,
    /// Whether they are of an earlier turn, because this one has none. The user asks after them.
    pub(super) are_earlier: bool,
}

impl PastCalls {
    /// Reads the calls of the last turn that has any.
    pub(super) fn read(messages: &[PromptMessage]) -> Self {
        let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
        let is_call = |message: &PromptMessage| matches!(message, PromptMessage::ToolCall { .. });
        let last = messages.iter().rposition(is_call).map_or(0, |place| place + 1);
        let begin = messages[..last].iter().rposition(is_user).map_or(0, |place| place + 1);
        let mut calls: Vec<_> = messages[begin..last].iter().filter_map(PastCall::read).collect();
        add_titles(&mut calls);
        Self { calls, are_earlier: messages[last..].iter().any(is_user) }
    }
}

impl PastCall {
    /// Returns whether it found something out, as it should.
    pub(super) fn only_looked_up(&self) -> bool {
        self.deed.looks_up && matches!(self.end, End::Ok(_))
    }

    fn read(message: &PromptMessage) -> Option<Self> {
        let PromptMessage::ToolCall { name, arguments, envelope, .. } = message else {
            return None;
        };
        let mut fields: Value = serde_json::from_str(envelope).unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        Some(Self {
            tool: name.clone(),
            deed: deeds::of(name),
            offset: arguments["offset"].as_u64().unwrap_or_default(),
            resolution: resolution(fields["settled"].as_str(), name),
            was_changed: fields.get("user_changed_arguments_to").is_some(),
            end: End::read(&mut fields),
        })
    }
}

impl End {
    fn read(envelope: &mut Value) -> Self {
        let text = |name: &str| envelope[name].as_str().unwrap_or_default().to_owned();
        match &*text("status") {
            "ok" => Self::Ok(envelope["data"].take()),
            "error" => Self::Failed { code: text("code"), reason: text("reason") },
            "cancelled" => {
                let said = text("reason");
                Self::Cancelled(CANCELLED.into_iter().find(|one| one.envelope_text() == said))
            }
            "discarded" => match &*text("effect") {
                "none" => Self::Discarded(Effect::None),
                "committed" => Self::Discarded(Effect::Committed),
                _ => Self::Discarded(Effect::Unknown),
            },
            _ => Self::Unreadable,
        }
    }
}

/// Reads the sentence in which an envelope says what an unknown effect turned out to be.
fn resolution(said: Option<&str>, tool: &str) -> Option<EffectResolution> {
    let said = said?;
    [EffectResolution::TookEffect, EffectResolution::DidNot].into_iter().find(|resolution| {
        let text = Text::Resolved { tool, resolution: *resolution };
        [Locale::KO, Locale::EN].into_iter().any(|locale| text.in_locale(locale) == said)
    })
}
