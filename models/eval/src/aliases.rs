//! Replaces the ids that tools give by ids that are the same in every run, because a model may
//! answer differently for other ids.
//!
//! They look like the originals (version 7, made within the same moments), so that they are no
//! easier to copy.

use std::collections::HashMap;

use madang::{
    model::{Completion, PromptMessage},
    tool::WantedCall,
};
use uuid::{Builder, Uuid};

/// The characters of an id.
const LENGTH: usize = 36;

/// The milliseconds between two ids.
const APART: u64 = 3;

/// The ids of a case in both directions.
#[derive(Debug)]
pub(crate) struct Aliases {
    random: fastrand::Rng,
    next_millis: u64,
    shown: HashMap<Uuid, Uuid>,
    meant: HashMap<Uuid, Uuid>,
}

impl Aliases {
    /// Makes ids for the case of this name, as if created from this moment on.
    pub(crate) fn new(case: &str, millis: u64) -> Self {
        let fold = |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte));
        Self {
            random: fastrand::Rng::with_seed(case.bytes().fold(7, fold)),
            next_millis: millis,
            shown: HashMap::new(),
            meant: HashMap::new(),
        }
    }

    /// Replaces the ids in a message to the model.
    pub(crate) fn show(&mut self, message: &PromptMessage) -> PromptMessage {
        match message {
            PromptMessage::User { text } => PromptMessage::User { text: self.shown(text).into() },
            PromptMessage::Model { text } => PromptMessage::Model { text: self.shown(text).into() },
            PromptMessage::ToolCall { call, name, arguments, envelope, opaque } => {
                PromptMessage::ToolCall {
                    opaque: opaque.clone(),
                    call: *call,
                    name: name.clone(),
                    arguments: self.shown(arguments).into(),
                    envelope: self.shown(envelope).into(),
                }
            }
        }
    }

    /// Restores the ids in a completion. Unknown ids stay.
    pub(crate) fn mean(&self, completion: Completion) -> Completion {
        let real = |id: Uuid| self.meant.get(&id).copied().unwrap_or(id);
        let calls = completion
            .tool_calls
            .into_iter()
            .map(|call| WantedCall::new(call.name, replaced(&call.arguments, real)));
        Completion {
            text: replaced(&completion.text, real),
            tool_calls: calls.collect(),
            ..completion
        }
    }

    fn shown(&mut self, text: &str) -> String {
        replaced(text, |id| self.alias(id))
    }

    fn alias(&mut self, id: Uuid) -> Uuid {
        if let Some(alias) = self.shown.get(&id) {
            return *alias;
        }
        let mut bytes = [0; 10];
        self.random.fill(&mut bytes);
        let alias = Builder::from_unix_timestamp_millis(self.next_millis, &bytes).into_uuid();
        self.next_millis += APART;
        self.shown.insert(id, alias);
        self.meant.insert(alias, id);
        alias
    }
}

/// Replaces the ids of a text.
fn replaced(text: &str, mut other: impl FnMut(Uuid) -> Uuid) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let id = rest.get(..LENGTH).filter(|id| id.is_ascii()).and_then(|id| id.parse().ok());
        match id {
            Some(id) => {
                out.push_str(&other(id).to_string());
                rest = &rest[LENGTH..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use madang::{
        CallId,
        model::{FinishReason, Usage},
    };

    use super::*;

    fn result(envelope: &str) -> PromptMessage {
        let call = CallId::new(Uuid::nil());
        let name = "find".into();
        let arguments = "{}".into();
        PromptMessage::ToolCall { opaque: None, call, name, arguments, envelope: envelope.into() }
    }

    fn shown(aliases: &mut Aliases, envelope: &str) -> String {
        let PromptMessage::ToolCall { envelope, .. } = aliases.show(&result(envelope)) else {
            panic!("it is a call");
        };
        envelope.to_string()
    }

    #[test]
    fn whatever_the_ids_are_the_model_reads_the_same() {
        let read = || {
            let mut aliases = Aliases::new("case", 1_773_457_200_000);
            let first = Uuid::now_v7();
            let second = Uuid::now_v7();
            let text = format!(r#"{{"items":["{first}","{second}"],"가":"{first}"}}"#);
            shown(&mut aliases, &text)
        };
        assert_eq!(read(), read());
        assert!(read().contains("019ce"), "they look as if made at that moment: {}", read());
        let other = shown(&mut Aliases::new("other", 1_773_457_200_000), &Uuid::nil().to_string());
        let this = shown(&mut Aliases::new("case", 1_773_457_200_000), &Uuid::nil().to_string());
        assert_ne!(other, this);
    }

    #[test]
    fn what_the_model_was_shown_is_what_it_means() {
        let mut aliases = Aliases::new("case", 0);
        let id = Uuid::now_v7();
        let alias = shown(&mut aliases, &id.to_string());
        assert_ne!(alias, id.to_string());
        let arguments = format!(r#"{{"id":"{alias}","of":"{}"}}"#, Uuid::nil());
        let calls = vec![WantedCall::new("open", arguments)];
        let completion = Completion {
            text: format!("'{alias}' 를 열어요"),
            tool_calls: calls,
            finish: FinishReason::ToolCalls,
            usage: Usage::default(),
            left_out: 0,
        };
        let meant = aliases.mean(completion);
        assert_eq!(meant.text, format!("'{id}' 를 열어요"));
        let arguments = format!(r#"{{"id":"{id}","of":"{}"}}"#, Uuid::nil());
        assert_eq!(*meant.tool_calls[0].arguments, *arguments);
    }
}
