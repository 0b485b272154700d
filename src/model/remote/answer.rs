//! The answer as far as a reader has read it.

use std::{mem, sync::Arc};

use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionDelta, FinishReason, ToolSpec, Usage, WantedCall},
};
use serde_json::{Map, Value};

use super::{broken::Broken, opaque::Opaque, text_call::TextCall};

/// The most bytes of text, thoughts and arguments of one answer: the longest arguments, with room
/// for a text.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The most calls of one answer: far more than a runtime takes of one.
const MAX_CALLS: usize = 256;

/// An answer as far as it is there.
#[derive(Debug)]
pub(super) struct Answer {
    deltas: Deltas,
    /// The tools that are offered. Without any, an answer in the form of a call is a text.
    tools: Arc<[ToolSpec]>,
    text_call: TextCall,
    /// Whether a tag closed a thought that none had opened.
    pub(super) has_unopened_thought: bool,
    /// Whether the model has said anything: then the request is not sent again.
    pub(super) has_begun: bool,
    text: String,
    /// The calls so far, in the order in which they began.
    pub(super) calls: Vec<PartialCall>,
    /// Thoughts as the provider wants them back.
    pub(super) thoughts: Vec<Value>,
    /// `None` until the provider says that the answer has ended.
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Usage,
    bytes: usize,
}

/// A call as far as it is there.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    /// The provider's number of the call, by which later frames continue it.
    pub(super) number: Option<u64>,
    /// The provider's id of the call. Empty if there was none.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    /// The signature, as the provider wants it back.
    pub(super) signature: Option<Value>,
    /// Whether the provider said that nothing more belongs to it. Until then, no arguments are not
    /// "none".
    pub(super) has_ended: bool,
    /// Whether it was written as text, and cannot be read.
    pub(super) is_unread: bool,
}

impl PartialCall {
    /// Returns whether its arguments are a complete object, to which nothing can be added.
    pub(super) fn is_whole(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }
}

impl Answer {
    pub(super) fn new(deltas: Deltas, tools: Arc<[ToolSpec]>) -> Self {
        Self {
            deltas,
            tools,
            text_call: TextCall::default(),
            has_unopened_thought: false,
            has_begun: false,
            text: String::new(),
            calls: Vec::new(),
            thoughts: Vec::new(),
            finish: None,
            usage: Usage { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 },
            bytes: 0,
        }
    }

    /// Forgets a stream that broke before the model said anything.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.deltas.clone(), self.tools.clone());
    }

    pub(super) fn says(&mut self, text: &str) -> Result<(), Broken> {
        if !text.is_empty() {
            self.takes(text.len())?;
            if self.tools.is_empty() {
                self.shows(text);
            } else {
                let text = self.text_call.push(text);
                self.shows(&text);
            }
        }
        Ok(())
    }

    fn shows(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.deltas.text(text);
        }
    }

    /// Reclassifies all the text so far as a thought, and returns it.
    pub(super) fn was_thinking(&mut self) -> String {
        self.has_unopened_thought = true;
        let (held, call) = self.text_call.end();
        let thought = mem::take(&mut self.text) + &held + &call.unwrap_or_default();
        if !thought.is_empty() {
            self.deltas.push(CompletionDelta::Thinking(&thought));
        }
        thought
    }

    /// Handles the end of the text. A call that was written as text is refused, and the model reads
    /// the refusal. It is left out if the server has read other calls.
    pub(super) fn text_ends(&mut self) -> Result<(), Broken> {
        let (held, call) = self.text_call.end();
        self.shows(&held);
        let Some(call) = call else { return Ok(()) };
        self.text.truncate(self.text.trim_end().len());
        if !self.calls.is_empty() || self.finish == Some(FinishReason::Length) {
            return Ok(());
        }
        let unread = WantedCall::unread(&call, &self.tools);
        let name = unread.name.to_string();
        let arguments = unread.arguments.to_string();
        let ended = PartialCall { has_ended: true, is_unread: true, ..PartialCall::default() };
        self.begins(PartialCall { name, arguments, ..ended }).map(drop)
    }

    pub(super) fn thinks(&mut self, text: &str) -> Result<(), Broken> {
        if !text.is_empty() {
            self.takes(text.len())?;
            self.deltas.push(CompletionDelta::Thinking(text));
        }
        Ok(())
    }

    /// Begins a call, and returns its place.
    pub(super) fn begins(&mut self, call: PartialCall) -> Result<usize, Broken> {
        if self.calls.len() == MAX_CALLS {
            return Err(Broken::bad(format!("more than {MAX_CALLS} calls")));
        }
        self.takes(call.id.len() + call.name.len())?;
        self.calls.push(call);
        Ok(self.calls.len() - 1)
    }

    /// Finds the call that this number has now.
    pub(super) fn numbered(&self, number: u64) -> Option<usize> {
        self.calls.iter().rposition(|call| call.number == Some(number))
    }

    /// Adds to the arguments of the call at this place.
    pub(super) fn adds(&mut self, place: usize, arguments: &str) -> Result<(), Broken> {
        self.takes(arguments.len())?;
        self.calls[place].arguments.push_str(arguments);
        Ok(())
    }

    /// Adds a complete call.
    pub(super) fn asks(
        &mut self,
        name: &str,
        arguments: Option<&Value>,
        signature: Option<&Value>,
    ) -> Result<(), Broken> {
        let name = name.to_owned();
        let signature = signature.cloned();
        let call = PartialCall { name, signature, has_ended: true, ..PartialCall::default() };
        let place = self.begins(call)?;
        match arguments {
            None | Some(Value::Null) => Ok(()),
            Some(arguments) => self.adds(place, &arguments.to_string()),
        }
    }

    /// Takes it that the provider ended each call.
    pub(super) fn calls_end(&mut self) {
        self.calls.iter_mut().for_each(|call| call.has_ended = true);
    }

    /// Counts what is kept of an answer.
    pub(super) fn takes(&mut self, bytes: usize) -> Result<(), Broken> {
        if !mem::replace(&mut self.has_begun, true) {
            self.deltas.push(CompletionDelta::Began);
        }
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            return Err(Broken::bad(format!("an answer of more than {MAX_BYTES} bytes")));
        }
        Ok(())
    }

    /// Makes the completion of an answer that has ended.
    pub(super) fn finish(&mut self, tag: &str, left_out: usize) -> Result<Completion, ModelError> {
        let finish = self.finish.unwrap_or_default();
        let count = self.calls.len();
        // The turn drops a last call that was cut off.
        let is_cut_off = finish == FinishReason::Length;
        let kept = if is_cut_off { count.saturating_sub(1) } else { count };
        let mut thoughts = mem::take(&mut self.thoughts);
        let mut tool_calls = Vec::with_capacity(count);
        for (index, call) in mem::take(&mut self.calls).into_iter().enumerate() {
            if call.name.is_empty() && !call.is_unread {
                return Err(ModelError::failed(ModelError::BAD_OUTPUT));
            }
            let opaque = Opaque {
                model: tag.to_owned(),
                calls: if index == 0 { kept } else { 0 },
                thoughts: mem::take(&mut thoughts),
                signature: call.signature,
            };
            let opaque = opaque.is_worth_it().then(|| opaque.to_text());
            // No arguments are "none" only after the provider's own end of the call.
            let has_none = call.arguments.trim().is_empty();
            if has_none && !call.has_ended && index < kept {
                return Err(ModelError::failed(ModelError::BAD_OUTPUT));
            }
            let arguments = if has_none { "{}" } else { &call.arguments };
            tool_calls.push(WantedCall { opaque, ..WantedCall::new(call.name, arguments) });
        }
        let finish = if count > 0 && finish == FinishReason::Stop {
            FinishReason::ToolCalls
        } else {
            finish
        };
        let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        let text = mem::take(&mut self.text);
        Ok(Completion { text, tool_calls, finish, usage: self.usage, left_out })
    }
}
