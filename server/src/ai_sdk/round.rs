//! Orders the calls of a round. A client sees those whose turn has come.
//!
//! If a step has two open calls, a client waits for decisions about both before it sends the first.
//! So the calls up to and including the first that does more than read are shown, and the next ones
//! after that one has ended.

use std::{collections::VecDeque, sync::Arc};

use madang::{
    CallId,
    tool::{EffectPolicy, ToolRegistry},
};

/// A round of calls.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The calls that are shown and have not ended.
    shown: Vec<CallId>,
    /// The calls whose turn has not come.
    hidden: VecDeque<HiddenCall>,
    /// The call that must end before the hidden ones are shown.
    before_hidden: Option<CallId>,
}

/// A call that was proposed.
#[derive(Debug)]
pub(super) struct HiddenCall {
    pub(super) call: CallId,
    pub(super) name: Arc<str>,
    /// The arguments as the model wrote them.
    pub(super) arguments: Arc<str>,
}

impl Round {
    /// Continues with calls that the client shows.
    pub(super) fn of(shown: Vec<CallId>) -> Self {
        Self { before_hidden: shown.last().copied(), shown, hidden: VecDeque::new() }
    }

    /// Takes a proposed call. A turn that goes on after a crash proposes its open calls again.
    pub(super) fn propose(&mut self, call: HiddenCall) {
        let is_hidden = self.hidden.iter().any(|hidden| hidden.call == call.call);
        if !is_hidden && !self.shown.contains(&call.call) {
            self.hidden.push_back(call);
        }
    }

    /// Returns the next call whose turn has come. From then on it is shown.
    pub(super) fn show_next(&mut self, tools: &ToolRegistry) -> Option<HiddenCall> {
        if self.before_hidden.is_some() {
            return None;
        }
        let next = self.hidden.pop_front()?;
        // A tool that is not registered may do anything.
        let tool = tools.get(&next.name);
        if !tool.is_ok_and(|tool| tool.spec().effect == EffectPolicy::Read) {
            self.before_hidden = Some(next.call);
        }
        self.shown.push(next.call);
        Some(next)
    }

    /// Shows a call before its turn. Returns whether it was not shown before.
    pub(super) fn show(&mut self, call: CallId) -> bool {
        self.hidden.retain(|hidden| hidden.call != call);
        let is_new = !self.shown.contains(&call);
        if is_new {
            self.before_hidden.get_or_insert(call);
            self.shown.push(call);
        }
        is_new
    }

    /// Ends a call.
    pub(super) fn end(&mut self, call: CallId) {
        self.shown.retain(|shown| *shown != call);
        self.before_hidden.take_if(|before| *before == call);
    }

    /// Returns whether a call other than this one is shown and has not ended.
    pub(super) fn has_beside(&self, call: CallId) -> bool {
        self.shown.iter().any(|shown| *shown != call)
    }

    /// Returns whether all calls have ended.
    pub(super) fn is_over(&self) -> bool {
        self.shown.is_empty() && self.hidden.is_empty()
    }

    /// Ends all calls that are shown.
    pub(super) fn end_shown(&mut self) {
        self.shown.clear();
        self.before_hidden = None;
    }
}
