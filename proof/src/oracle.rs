//! The oracle: what people were told and what tools did, written down outside of the runtime and of its store.
//!
//! Each fact is a [`Line`], told before whatever follows from it. A [`Witness`] writes lines into an [`Oracle`] and hands
//! them to the driver's sink: a pipe out of a process that is killed, a recording of a disk, or nothing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use madang::{
    CallId, OnDismiss, Timestamp, TurnId, UserId,
    approval::Decision,
    error::{DecisionError, TurnRefused},
    event::{EventCursor, EventKind, SessionEvent, TurnEnding},
    ledger::{Effect, EffectResolution},
    store::StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    audit::{Counter, Findings},
    workload::Act,
};

/// What somebody who uses the runtime knows, as soon as they know it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A runtime runs; those before it do not.
    Ready,
    /// A person is about to submit a text. No two are the same.
    Asks(Asked),
    /// What was told of a text, by its place among those that were asked for.
    Asked {
        /// Its place.
        place: usize,
        /// What was told.
        told: Began,
    },
    /// A submit under the key of a turn began another turn, or an answer counted though another had.
    Found {
        /// What it breaks.
        counter: Counter,
        /// A sentence.
        what: String,
    },
    /// The person who asked was told how the turn ended.
    Ended {
        /// The session's number.
        session: usize,
        /// The turn.
        turn: TurnId,
        /// How.
        ending: TurnEnding,
    },
    /// A person is about to answer a question.
    Decides {
        /// Of which call.
        call: CallId,
        /// The answer.
        answered: Answered,
    },
    /// What was told of an answer, by its place among those about the call.
    Decided {
        /// The call.
        call: CallId,
        /// Its place.
        place: usize,
        /// What was told.
        told: Verdict,
    },
    /// A reader of a session heard an event.
    Heard {
        /// The session's number.
        session: usize,
        /// When.
        at: Timestamp,
        /// What.
        event: Arc<SessionEvent>,
    },
    /// A reader went on behind an event that it did not hear.
    Missed {
        /// The session's number.
        session: usize,
        /// The event's place.
        cursor: EventCursor,
    },
    /// A person is about to leave what runs in a session.
    Leaves {
        /// The session's number.
        session: usize,
    },
    /// The dismissal of a turn that stops then was acknowledged.
    Dismissed {
        /// The turn.
        turn: TurnId,
        /// When.
        at: Timestamp,
    },
    /// The standing approvals of a session have ended.
    Revoked {
        /// The session's number.
        session: usize,
        /// When a person asked for it: an approval that is given from then on may come behind it.
        asked: Timestamp,
        /// When it was acknowledged.
        at: Timestamp,
    },
    /// A person is about to say what became of an unknown effect.
    Resolves {
        /// Of which call.
        call: CallId,
        /// What they say.
        resolution: EffectResolution,
    },
    /// That it counts was acknowledged.
    Resolved {
        /// The call.
        call: CallId,
        /// What they said.
        resolution: EffectResolution,
    },
    /// A handler begins.
    Begun {
        /// When.
        at: Timestamp,
        /// For which call.
        call: CallId,
        /// What it does.
        act: Act,
        /// The token that it was given.
        token: String,
        /// For whom.
        user: UserId,
    },
    /// A handler has ended.
    Returned {
        /// The call.
        call: CallId,
        /// Whether it returned a success.
        is_ok: bool,
    },
    /// A letter is sent: this line is the letter.
    Sent {
        /// Its token.
        token: String,
        /// The call that sent it.
        call: CallId,
    },
    /// The runtime was shut down in order.
    Done,
}

/// A turn that a person wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// The session's number.
    pub session: usize,
    /// The text.
    pub text: String,
    /// When.
    pub at: Timestamp,
    /// What dismissing it means.
    pub on_dismiss: OnDismiss,
    /// It was submitted under a key.
    pub is_keyed: bool,
    /// What was told; `None` where the runtime died before.
    pub told: Option<Began>,
}

/// Whether a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Began {
    /// It did, as this one.
    Yes(TurnId),
    /// It did not.
    No,
    /// It is not known.
    Perhaps,
}

impl Began {
    /// What a refusal says.
    #[must_use]
    pub fn of(refused: &TurnRefused) -> Self {
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answered {
    /// The answer.
    pub decision: Decision,
    /// The arguments that were shown.
    pub shown: Value,
    /// When it was given.
    pub at: Timestamp,
    /// Until when it could be given.
    pub expires_at: Timestamp,
    /// Whether it counts; `None` where the runtime died before.
    pub told: Option<Verdict>,
}

/// What was told of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It counts.
    Counts,
    /// It does not.
    Refused,
    /// It is not known.
    Unknown,
}

impl Verdict {
    /// What the runtime said.
    #[must_use]
    pub const fn of(told: &Result<(), DecisionError>) -> Self {
        match told {
            Ok(()) => Self::Counts,
            Err(DecisionError::NotKnown) => Self::Unknown,
            Err(_) => Self::Refused,
        }
    }
}

/// A handler that began.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    pub(crate) at: Timestamp,
    pub(crate) act: Act,
    pub(crate) token: String,
    pub(crate) user: UserId,
    /// It still runs, as far as anybody knows.
    pub(crate) is_running: bool,
    /// It returned a success.
    pub(crate) is_ok: bool,
}

/// All that is known.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    /// What was asked for: each text is another.
    pub(crate) asks: Vec<Asked>,
    /// The last of these of each session that was submitted under a key.
    pub(crate) keyed: BTreeMap<usize, usize>,
    /// The ends that those heard who asked.
    pub(crate) ends: Vec<(TurnId, TurnEnding)>,
    /// Each answer of a person, from before it was given.
    pub(crate) answers: BTreeMap<CallId, Vec<Answered>>,
    /// What the readers of each session heard, and when.
    pub(crate) heard: BTreeMap<usize, Vec<(Timestamp, Arc<SessionEvent>)>>,
    /// How far each session was read.
    pub(crate) read_to: BTreeMap<usize, EventCursor>,
    /// The calls whose letters were sent, by token.
    pub(crate) letters: BTreeMap<String, Vec<CallId>>,
    /// How often a person left each session.
    pub(crate) left: BTreeMap<usize, usize>,
    /// When the dismissal of a turn was acknowledged.
    pub(crate) dismissed: BTreeMap<TurnId, Timestamp>,
    /// When the standing approvals of a session were asked to end, and had ended.
    pub(crate) revoked: Vec<(usize, [Timestamp; 2])>,
    /// What people said of unknown effects, and whether it was acknowledged that it counts.
    pub(crate) resolved: BTreeMap<CallId, Vec<(EffectResolution, bool)>>,
    /// The handlers that began, by call.
    pub(crate) begun: BTreeMap<CallId, Vec<Begun>>,
    /// What is wrong already, before anything is compared.
    pub(crate) findings: Findings,
}

impl Oracle {
    /// Writes a line down.
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Ready => {
                let handlers = self.begun.values_mut().flatten();
                handlers.for_each(|begun| begun.is_running = false);
            }
            Line::Done => {}
            Line::Asks(asked) => {
                if asked.is_keyed {
                    self.keyed.insert(asked.session, self.asks.len());
                }
                self.asks.push(asked);
            }
            Line::Asked { place, told } => self.asks[place].told = Some(told),
            Line::Found { counter, what } => self.findings.find(counter, what),
            Line::Ended { turn, ending, .. } => self.ends.push((turn, ending)),
            Line::Decides { call, answered } => {
                self.answers.entry(call).or_default().push(answered);
            }
            Line::Decided { call, place, told } => {
                let answered = self.answers.get_mut(&call).and_then(|all| all.get_mut(place));
                answered.expect("an answer is given before it is judged").told = Some(told);
            }
            Line::Heard { session, at, event } => {
                self.read_to.insert(session, event.cursor);
                self.heard.entry(session).or_default().push((at, event));
            }
            Line::Missed { session, cursor } => drop(self.read_to.insert(session, cursor)),
            Line::Leaves { session } => *self.left.entry(session).or_default() += 1,
            Line::Dismissed { turn, at } => drop(self.dismissed.entry(turn).or_insert(at)),
            Line::Revoked { session, asked, at } => self.revoked.push((session, [asked, at])),
            Line::Resolves { call, resolution } => {
                self.resolved.entry(call).or_default().push((resolution, false));
            }
            Line::Resolved { call, resolution } => {
                self.resolved.entry(call).or_default().push((resolution, true));
            }
            Line::Begun { at, call, act, token, user } => {
                let begun = Begun { at, act, token, user, is_running: true, is_ok: false };
                self.begun.entry(call).or_default().push(begun);
            }
            Line::Returned { call, is_ok } => {
                if let Some(begun) = self.begun.get_mut(&call).and_then(|all| all.last_mut()) {
                    (begun.is_running, begun.is_ok) = (false, begun.is_ok || is_ok);
                }
            }
            Line::Sent { token, call } => self.letters.entry(token).or_default().push(call),
        }
    }

    /// Counts what was heard to have taken effect.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        let took_effect = |(_, event): &&(Timestamp, Arc<SessionEvent>)| matches!(&event.kind, EventKind::ToolCallEnded { record } if record.effect == Effect::Committed);
        self.heard.values().flatten().filter(took_effect).count()
    }
}

/// Where lines go, in the order in which they are written down.
pub type Sink = Arc<dyn Fn(&Line) + Send + Sync>;

/// Writes lines down. Cheap to clone.
#[derive(Clone, Default)]
pub struct Witness {
    oracle: Arc<Mutex<Oracle>>,
    sink: Option<Sink>,
}

impl Witness {
    /// Goes on from what is known, and hands each line to a sink.
    pub fn new(oracle: Oracle, sink: Sink) -> Self {
        Self { oracle: Arc::new(Mutex::new(oracle)), sink: Some(sink) }
    }

    /// Looks into what is known.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().expect("no code under this lock panics")
    }

    /// Writes a line down.
    pub fn note(&self, line: Line) {
        drop(self.written(line));
    }

    fn written(&self, line: Line) -> MutexGuard<'_, Oracle> {
        let mut oracle = self.oracle();
        if let Some(sink) = &self.sink {
            sink(&line);
        }
        oracle.note(line);
        oracle
    }

    /// Writes down that a person is about to submit a text. Gives its place.
    pub(crate) fn asks(&self, asked: Asked) -> usize {
        self.written(Line::Asks(asked)).asks.len() - 1
    }

    /// Writes down that a person is about to answer. Gives the place of the answer.
    pub(crate) fn decides(&self, call: CallId, answered: Answered) -> usize {
        self.written(Line::Decides { call, answered }).answers[&call].len() - 1
    }

    /// Something is wrong.
    pub(crate) fn finds(&self, counter: Counter, what: String) {
        self.note(Line::Found { counter, what });
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness").finish_non_exhaustive()
    }
}

/// The token among the arguments of a call, or in their raw text where they were never validated.
pub(crate) fn token_of(arguments: &Value) -> Option<String> {
    let token = |arguments: &Value| Some(arguments.get("token")?.as_str()?.to_owned());
    token(arguments).or_else(|| token(&serde_json::from_str(arguments.as_str()?).ok()?))
}
