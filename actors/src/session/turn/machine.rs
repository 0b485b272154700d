//! One turn as a pure state machine: inputs in, effects out.

use std::collections::{BTreeSet, VecDeque};

use crate::{
    port::ModelError,
    protocol::{Ending, FinishReason, OnDismiss, TurnEnding, TurnError, Usage, WantedCall},
};

/// One turn, from the stored user message to its end.
#[derive(Debug)]
pub(in crate::session) struct TurnMachine {
    max_rounds: u32,
    on_dismiss: OnDismiss,
    round: u32,
    usage: Usage,
    is_stopped: bool,
    phase: Phase,
}

/// The progress of a turn that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Progress {
    /// The rounds whose completion asked for tools.
    pub(super) round: u32,
    /// The cost of their completions.
    pub(in crate::session) usage: Usage,
    /// Whether the user dismissed the turn.
    pub(super) is_dismissed: bool,
    /// Whether a call of the last of these rounds asked for the end.
    pub(super) stops_loop: bool,
    /// The calls of that round that have not ended, in order.
    pub(in crate::session) waiting: Vec<Sharing>,
}

#[derive(Debug)]
enum Phase {
    /// The user's message is being stored.
    Opening,
    /// The turn goes on in mid-round.
    Reopening(Calls),
    /// The model is asked.
    Completing,
    /// Calls run.
    Calling(Calls),
    /// The runtime ends before the turn does.
    Suspended,
    /// The end was decided.
    Ended,
}

/// The calls of one round, numbered in the order in which the model asked for them.
#[derive(Debug, Default)]
struct Calls {
    waiting: VecDeque<(usize, Sharing)>,
    running: BTreeSet<usize>,
    runs_alone: bool,
    stops_loop: bool,
}

/// Whether a call may run at the same time as others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Runs at the same time as other readers, because it only reads.
    Shared,
    /// Runs after all calls before it, and before all calls after it, because it writes.
    Alone,
}

/// An input of the turn.
#[derive(Debug, Clone)]
pub(super) enum TurnInput {
    /// The user's message is stored, or the turn goes on.
    Opened,
    /// The model came to its end.
    Completed {
        text: String,
        calls: Vec<(WantedCall, Sharing)>,
        usage: Usage,
        finish: FinishReason,
    },
    /// The model failed after this text.
    CompletionFailed { error: TurnError, spoken: String },
    /// A call has its outcome in the store.
    CallEnded { index: usize, stops_loop: bool },
    /// The user dismissed the turn after this text.
    Dismissed { spoken: String },
    /// The runtime ends. The turn stays as it is, to go on after the next start.
    Suspended,
}

/// The parts of a completion that asked for tools.
#[derive(Debug, PartialEq)]
pub(super) struct Called {
    pub(super) round: u32,
    pub(super) usage: Usage,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<WantedCall>,
}

/// An effect that the session carries out.
#[derive(Debug, PartialEq)]
pub(super) enum TurnEffect {
    /// Asks the model.
    Complete,
    /// Cancels the completion.
    CancelCompletion,
    /// Appends a text of the model.
    Say { text: String, ending: Ending },
    /// Records the calls of this round's completion, and the text before them.
    Propose(Called),
    /// Brings this call of the round to its end.
    Dispatch { index: usize },
    /// Records that this call of the round does not begin any more.
    Withdraw { index: usize },
    /// Stores and publishes the end of the turn.
    End { ending: TurnEnding, error: Option<TurnError>, usage: Usage },
}

impl TurnMachine {
    /// Makes a turn whose user message is being stored.
    pub(in crate::session) fn new(max_rounds: u32, on_dismiss: OnDismiss) -> Self {
        Self {
            max_rounds,
            on_dismiss,
            round: 0,
            usage: Usage::default(),
            is_stopped: false,
            phase: Phase::Opening,
        }
    }

    /// Makes a turn with this progress; [`TurnInput::Opened`] lets it go on.
    pub(super) fn resumed(max_rounds: u32, on_dismiss: OnDismiss, progress: Progress) -> Self {
        let Progress { round, usage, is_dismissed, stops_loop, waiting } = progress;
        let is_stopped = is_dismissed && on_dismiss == OnDismiss::Stop;
        let waiting: VecDeque<_> = waiting.into_iter().enumerate().collect();
        let phase = if round == 0 && waiting.is_empty() {
            Phase::Opening
        } else {
            Phase::Reopening(Calls { waiting, stops_loop, ..Calls::default() })
        };
        Self { max_rounds, on_dismiss, round, usage, is_stopped, phase }
    }

    /// Returns whether a screen shows that the model is answering.
    pub(in crate::session) const fn is_streaming(&self) -> bool {
        !self.is_stopped && !self.is_over()
    }

    /// Returns whether it is left as it is, to go on after the next start.
    pub(in crate::session) const fn is_suspended(&self) -> bool {
        matches!(self.phase, Phase::Suspended)
    }

    /// Returns whether a dismissal lets no more of it begin.
    pub(super) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns whether its text is not stored yet, or it has not gone on yet.
    pub(super) const fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Reopening(_))
    }

    /// Returns whether the model is asked.
    pub(super) const fn is_completing(&self) -> bool {
        matches!(self.phase, Phase::Completing)
    }

    /// Returns whether the end was decided.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Takes an input and returns the effects, in order.
    pub(super) fn on(&mut self, input: TurnInput) -> Vec<TurnEffect> {
        match (input, &mut self.phase) {
            (_, Phase::Ended | Phase::Suspended) => Vec::new(),
            (TurnInput::Suspended, phase) => {
                let was = std::mem::replace(phase, Phase::Suspended);
                matches!(was, Phase::Completing)
                    .then_some(TurnEffect::CancelCompletion)
                    .into_iter()
                    .collect()
            }
            (TurnInput::Opened, Phase::Opening) if self.is_stopped => {
                vec![self.end(TurnEnding::Dismissed, None)]
            }
            (TurnInput::Opened, Phase::Opening) => self.next_round(),
            (TurnInput::Opened, Phase::Reopening(calls)) => {
                self.phase = Phase::Calling(std::mem::take(calls));
                if self.is_stopped { self.stop_calling() } else { self.go_on_calling() }
            }
            (TurnInput::Completed { text, calls, usage, finish }, Phase::Completing) => {
                add(&mut self.usage.prompt_tokens, usage.prompt_tokens);
                add(&mut self.usage.cached_tokens, usage.cached_tokens);
                add(&mut self.usage.completion_tokens, usage.completion_tokens);
                self.completed(text, calls, finish)
            }
            (TurnInput::CompletionFailed { error, spoken }, Phase::Completing) => {
                let end = self.end(TurnEnding::Failed, Some(error));
                interrupted(spoken).into_iter().chain([end]).collect()
            }
            (TurnInput::CallEnded { index, stops_loop }, Phase::Calling(calls)) => {
                calls.ended(index, stops_loop);
                self.go_on_calling()
            }
            (TurnInput::Dismissed { .. }, _) if self.on_dismiss == OnDismiss::Finish => Vec::new(),
            (TurnInput::Dismissed { spoken }, Phase::Completing) => {
                let end = self.end(TurnEnding::Dismissed, None);
                [TurnEffect::CancelCompletion]
                    .into_iter()
                    .chain(interrupted(spoken))
                    .chain([end])
                    .collect()
            }
            (TurnInput::Dismissed { .. }, Phase::Calling(_)) => {
                self.is_stopped = true;
                self.stop_calling()
            }
            (TurnInput::Dismissed { .. }, Phase::Opening | Phase::Reopening(_)) => {
                self.is_stopped = true;
                Vec::new()
            }
            // An answer for a phase that is over comes too late.
            (
                TurnInput::Opened
                | TurnInput::Completed { .. }
                | TurnInput::CompletionFailed { .. }
                | TurnInput::CallEnded { .. },
                Phase::Opening | Phase::Reopening(_) | Phase::Completing | Phase::Calling(_),
            ) => Vec::new(),
        }
    }

    /// Goes on after a completion. If the model reached its bound on tokens, it was in the middle
    /// of the last call, which is dropped. The missing arguments could be those that narrow it.
    fn completed(
        &mut self,
        text: String,
        mut calls: Vec<(WantedCall, Sharing)>,
        finish: FinishReason,
    ) -> Vec<TurnEffect> {
        let is_cut_off = finish == FinishReason::Length && calls.pop().is_some();
        if !calls.is_empty() {
            self.call(text, calls)
        } else if is_cut_off {
            let end = self.end(TurnEnding::Failed, Some(TurnError::model(ModelError::TOO_LONG)));
            interrupted(text).into_iter().chain([end]).collect()
        } else {
            self.answer(text, finish)
        }
    }

    fn answer(&mut self, text: String, finish: FinishReason) -> Vec<TurnEffect> {
        if text.trim().is_empty() {
            let kind = match finish {
                FinishReason::Length => ModelError::TOO_LONG,
                FinishReason::Stop | FinishReason::ToolCalls => ModelError::BAD_OUTPUT,
            };
            return vec![self.end(TurnEnding::Failed, Some(TurnError::model(kind)))];
        }
        let end = self.end(TurnEnding::Answered, None);
        vec![TurnEffect::Say { text, ending: Ending::Complete }, end]
    }

    fn call(&mut self, text: String, calls: Vec<(WantedCall, Sharing)>) -> Vec<TurnEffect> {
        let (calls, sharing): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let waiting = sharing.into_iter().enumerate().collect();
        self.phase = Phase::Calling(Calls { waiting, ..Calls::default() });
        let text = (!text.trim().is_empty()).then_some(text);
        let proposed = Called { round: self.round, usage: self.usage, text, calls };
        std::iter::once(TurnEffect::Propose(proposed)).chain(self.go_on_calling()).collect()
    }

    /// Withdraws the calls that have not begun. The turn ends with the running ones.
    fn stop_calling(&mut self) -> Vec<TurnEffect> {
        let Phase::Calling(calls) = &mut self.phase else { return Vec::new() };
        let withdrawn: Vec<_> = calls.withdraw().collect();
        if withdrawn.is_empty() { self.go_on_calling() } else { withdrawn }
    }

    /// Starts the calls that are next. After all have ended, the next round begins or the turn
    /// ends.
    fn go_on_calling(&mut self) -> Vec<TurnEffect> {
        let Phase::Calling(calls) = &mut self.phase else { return Vec::new() };
        let begun = calls.start();
        if !calls.running.is_empty() {
            return begun;
        }
        let stops_loop = calls.stops_loop;
        if self.is_stopped {
            vec![self.end(TurnEnding::Dismissed, None)]
        } else if stops_loop {
            vec![self.end(TurnEnding::Stopped, None)]
        } else {
            self.next_round()
        }
    }

    fn next_round(&mut self) -> Vec<TurnEffect> {
        if self.round >= self.max_rounds {
            return vec![self.end(TurnEnding::Failed, Some(TurnError::TooManyRounds))];
        }
        self.round += 1;
        self.phase = Phase::Completing;
        vec![TurnEffect::Complete]
    }

    fn end(&mut self, ending: TurnEnding, error: Option<TurnError>) -> TurnEffect {
        self.phase = Phase::Ended;
        TurnEffect::End { ending, error, usage: self.usage }
    }
}

/// Adds a count of a model, up to the largest number, so that such a count ends no turn.
const fn add(sum: &mut u32, more: u32) {
    *sum = sum.saturating_add(more);
}

fn interrupted(spoken: String) -> Option<TurnEffect> {
    (!spoken.trim().is_empty())
        .then_some(TurnEffect::Say { text: spoken, ending: Ending::Interrupted })
}

impl Calls {
    fn start(&mut self) -> Vec<TurnEffect> {
        let mut begun = Vec::new();
        while !self.runs_alone
            && let Some((index, sharing)) = self.waiting.pop_front()
        {
            if sharing == Sharing::Alone && !self.running.is_empty() {
                self.waiting.push_front((index, sharing));
                break;
            }
            self.runs_alone = sharing == Sharing::Alone;
            self.running.insert(index);
            begun.push(TurnEffect::Dispatch { index });
        }
        begun
    }

    fn withdraw(&mut self) -> impl Iterator<Item = TurnEffect> {
        let running = &mut self.running;
        self.waiting.drain(..).map(|(index, _)| {
            running.insert(index);
            TurnEffect::Withdraw { index }
        })
    }

    fn ended(&mut self, index: usize, stops_loop: bool) {
        self.running.remove(&index);
        self.stops_loop |= stops_loop;
        if self.running.is_empty() {
            self.runs_alone = false;
        }
    }
}
