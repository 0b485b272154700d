//! What people were told and what tools did, written down outside of the runtime and of its store.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use madang::{
    CallId, Timestamp, TurnId, TurnOptions, UserId,
    approval::{Decision, Question},
    error::{AnswerError, TurnError, TurnRefused},
    event::{EventCursor, EventKind, SessionEvent, TurnEnding},
    model::ModelError,
    store::StoreError,
    tool::ToolContext,
};
use serde_json::Value;

use super::fate::Fate;
use crate::{audit::Findings, test_runtime::Act};

/// Knows what was acknowledged, allowed and done.
#[derive(Debug, Default)]
pub(super) struct Witness(Mutex<Told>);

/// All that an witness knows.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What was asked for, by session: each text is another.
    pub(super) asks: Vec<Asked>,
    /// The ends that those heard who asked.
    pub(super) ends: Vec<(TurnId, TurnEnding)>,
    /// Each answer of a person, from before it was given.
    pub(super) answers: BTreeMap<CallId, Vec<Answered>>,
    /// What the readers of each session heard, and when.
    pub(super) heard: BTreeMap<usize, Vec<(Duration, Arc<SessionEvent>)>>,
    /// How far each session was read.
    pub(super) read_to: BTreeMap<usize, EventCursor>,
    /// The calls whose letters were sent, by token.
    pub(super) letters: BTreeMap<String, Vec<CallId>>,
    /// When the dismissal of a turn was acknowledged.
    pub(super) dismissed: BTreeMap<TurnId, Duration>,
    /// When the standing approvals of a session had ended.
    pub(super) revoked: Vec<(usize, Duration)>,
    /// When which handlers began.
    pub(super) begun: Vec<Begun>,
    /// Ends and dismissals that were told before the store had them, and were lost with their process.
    pub(super) retracted: u64,
    /// What is wrong already, before anything is compared.
    pub(super) findings: Findings,
}

/// A turn that a person wanted.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) session: usize,
    pub(super) text: String,
    pub(super) at: Duration,
    /// It was submitted with these, under a key.
    pub(super) keyed: Option<TurnOptions>,
    /// What was told; `None` where the runtime died before.
    pub(super) told: Option<Began>,
}

/// Whether a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    Yes(TurnId),
    No,
    Perhaps,
}

impl Began {
    pub(super) fn of(refused: &TurnRefused) -> Self {
        match refused {
            TurnRefused::Store(cause) if StoreError::may_have_happened(cause) => Self::Perhaps,
            TurnRefused::Empty
            | TurnRefused::Busy
            | TurnRefused::TooLong { .. }
            | TurnRefused::UnknownTimeZone { .. }
            | TurnRefused::OtherText
            | TurnRefused::Overloaded(_)
            | TurnRefused::Store(_) => Self::No,
            TurnRefused::Closed | _ => Self::Perhaps,
        }
    }
}

/// An answer of a person to a question.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) decision: Decision,
    pub(super) shown: Value,
    /// When it was given.
    pub(super) at: Duration,
    /// Until when it could be given.
    pub(super) expires_at: Timestamp,
    /// Whether it counts; `None` where the runtime died before.
    pub(super) told: Option<Result<(), AnswerError>>,
}

/// A handler that began.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) at: Duration,
    pub(super) call: CallId,
    pub(super) act: Act,
    pub(super) token: String,
    pub(super) user: UserId,
}

impl Witness {
    pub(super) fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().expect("no code under this lock panics")
    }

    /// A person wants a turn. Gives where to write down what came of it.
    pub(super) fn asks(
        &self,
        session: usize,
        text: &str,
        at: Duration,
        keyed: Option<TurnOptions>,
    ) -> usize {
        let mut told = self.told();
        told.asks.push(Asked { session, text: text.to_owned(), at, keyed, told: None });
        told.asks.len() - 1
    }

    /// A person decides. Gives where to write down what came of it.
    pub(super) fn decides(&self, question: &Question, decision: &Decision, at: Duration) -> usize {
        let mut told = self.told();
        let answers = told.answers.entry(question.call).or_default();
        let (decision, shown) = (decision.clone(), question.arguments.clone());
        let expires_at = question.expires_at;
        answers.push(Answered { decision, shown, at, expires_at, told: None });
        answers.len() - 1
    }

    /// A handler begins.
    pub(super) fn begins(&self, fate: &Fate, act: Act, token: &str, ctx: &ToolContext) {
        let begun = Begun {
            at: fate.now(),
            call: ctx.call,
            act,
            token: token.to_owned(),
            user: ctx.user.clone(),
        };
        self.told().begun.push(begun);
    }

    /// A letter is sent.
    pub(super) fn sends(&self, token: &str, call: CallId) {
        self.told().letters.entry(token.to_owned()).or_default().push(call);
    }

    /// A life is over. Where the store could not take the end of a turn, or its actor was lost, the runtime tells that it
    /// is over at once; and it acknowledges a dismissal at once. Dead or shut down before the store had that, it goes on
    /// with the turn in its next life. So these ends and dismissals, and no others, count as not told. `open` are the
    /// turns that the store has as open, and whether as dismissed.
    pub(super) fn loses(&self, open: &BTreeMap<TurnId, bool>) {
        let mut told = self.told();
        let Told { heard, read_to, ends, dismissed, retracted, .. } = &mut *told;
        let is_early = |error: &TurnError| match error {
            TurnError::Store => true,
            TurnError::Model { kind, .. } => kind == ModelError::ENGINE_DIED,
            TurnError::TooManyRounds | TurnError::CutOff | _ => false,
        };
        for (session, heard) in heard {
            let early: BTreeSet<_> = heard
                .iter()
                .filter(|(_, event)| {
                    matches!(&event.kind, EventKind::Error { error, .. } if is_early(error))
                        && open.contains_key(&event.turn)
                })
                .map(|(_, event)| event.turn)
                .collect();
            heard.retain(|(_, event)| {
                let is_end =
                    matches!(event.kind, EventKind::Error { .. } | EventKind::TurnEnded { .. });
                let stays = !(is_end && early.contains(&event.turn));
                *retracted += u64::from(!stays);
                stays
            });
            if let Some((_, last)) = heard.last() {
                read_to.insert(*session, last.cursor);
            }
        }
        ends.retain(|(turn, ending)| *ending != TurnEnding::Failed || !open.contains_key(turn));
        let before = dismissed.len();
        dismissed.retain(|turn, _| open.get(turn) != Some(&false));
        *retracted += (before - dismissed.len()) as u64;
    }

    /// Something is wrong: a kind of findings, and a sentence.
    pub(super) fn finds(&self, kind: fn(&mut Findings) -> &mut BTreeSet<String>, what: String) {
        kind(&mut self.told().findings).insert(what);
    }
}
