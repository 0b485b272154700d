//! The oracle: records outside of the runtime and of its store what people learned and what tools
//! did.
//!
//! Each fact is a [`Line`], recorded before its consequences. A [`Witness`] writes lines into an
//! [`Oracle`] and passes them to the driver's sink. The sink is a pipe out of a process that is
//! killed, a recording of a disk, or nothing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use madang::{
    CallId, Error, OnDismiss, Timestamp, Turn, TurnId, UserId,
    approval::Decision,
    error::DecisionError,
    event::{EventCursor, EventKind, SessionEvent, TurnEnding},
    ledger::{Effect, EffectResolution},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    audit::{Counter, Findings},
    workload::Act,
};

/// A fact that a user of the runtime knows, from the moment of that knowledge on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A runtime runs, and the earlier ones do not.
    Ready,
    /// A person is about to submit a text. No two are the same.
    Asks(Asked),
    /// The runtime's answer to a submitted text.
    Asked {
        /// The index among all submitted texts.
        index: usize,
        /// Whether a turn began.
        began: Began,
    },
    /// A submit under the key of a turn began another turn, or an answer counted though another
    /// had.
    Found {
        /// The broken promise.
        counter: Counter,
        /// The finding in one sentence, for the report.
        what: String,
    },
    /// A person is about to import a history.
    Imports {
        /// The session's number.
        session: usize,
    },
    /// A person was answered about an import.
    Imported {
        /// The session's number.
        session: usize,
        /// Whether it began.
        began: Began,
    },
    /// The asking person received the end of a turn.
    Ended {
        /// The session's number.
        session: usize,
        /// The id of the ended turn.
        turn: TurnId,
        /// The ending as the person received it.
        ending: TurnEnding,
    },
    /// A person is about to answer a question.
    Decides {
        /// The call in question.
        call: CallId,
        /// The answer, with the arguments that the person saw.
        answered: Answered,
    },
    /// The runtime's verdict on an answer.
    Decided {
        /// The call that the answer was about.
        call: CallId,
        /// The index among the answers about this call.
        index: usize,
        /// Whether it counts.
        verdict: Verdict,
    },
    /// A reader of a session heard an event.
    Heard {
        /// The session's number.
        session: usize,
        /// The moment at which the reader heard it.
        at: Timestamp,
        /// The event as the reader heard it.
        event: Arc<SessionEvent>,
    },
    /// A reader went on behind an event that it did not hear.
    Missed {
        /// The session's number.
        session: usize,
        /// The cursor of the event.
        cursor: EventCursor,
    },
    /// A person is about to leave the running turn of a session.
    Leaves {
        /// The session's number.
        session: usize,
    },
    /// The dismissal of a turn that stops then was acknowledged.
    Dismissed {
        /// The id of the dismissed turn.
        turn: TurnId,
        /// The moment of the acknowledgement.
        at: Timestamp,
    },
    /// The standing approvals of a session have ended.
    Revoked {
        /// The session's number.
        session: usize,
        /// The moment of the request. An approval that is given from then on may come behind it.
        asked: Timestamp,
        /// The moment of the acknowledgement.
        at: Timestamp,
    },
    /// A person is about to resolve an unknown effect.
    Resolves {
        /// The call with the unknown effect.
        call: CallId,
        /// The effect that the person says it had.
        resolution: EffectResolution,
    },
    /// The runtime acknowledged a resolution.
    Resolved {
        /// The call with the unknown effect.
        call: CallId,
        /// The effect that the runtime acknowledged.
        resolution: EffectResolution,
    },
    /// A handler begins.
    Begun {
        /// The moment at which the handler began.
        at: Timestamp,
        /// The call that the handler serves.
        call: CallId,
        /// The act of the tool.
        act: Act,
        /// The given token.
        token: String,
        /// The user of the call.
        user: UserId,
    },
    /// A handler has ended.
    Returned {
        /// The call that the handler served.
        call: CallId,
        /// Whether it returned a success.
        is_ok: bool,
    },
    /// A letter is sent: this line is the letter.
    Sent {
        /// The token in the letter.
        token: String,
        /// The call that sent it.
        call: CallId,
    },
    /// The runtime was shut down in order.
    ShutDown,
}

/// A turn that a person wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// The session's number.
    pub session: usize,
    /// The person's words.
    pub text: String,
    /// The moment of the first submit.
    pub at: Timestamp,
    /// The meaning of a dismissal.
    pub on_dismiss: OnDismiss,
    /// Whether it was submitted under a key.
    pub is_keyed: bool,
    /// The runtime's answer; `None` if the runtime died before.
    pub began: Option<Began>,
}

/// Whether a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Began {
    /// It began, with this id.
    Yes(TurnId),
    /// It did not begin.
    No,
    /// It is not known.
    Perhaps,
}

impl Began {
    /// Reads the answer to a submitted text.
    #[must_use]
    pub fn of(submitted: &Result<Turn, Error>) -> Self {
        match submitted {
            Ok(turn) => Self::Yes(turn.id()),
            Err(Error::Store(cause)) if cause.may_have_happened() => Self::Perhaps,
            Err(
                Error::Empty
                | Error::Busy
                | Error::TooLong { .. }
                | Error::InstructionsTooLong { .. }
                | Error::TimeZone(_)
                | Error::UnknownModel { .. }
                | Error::NoModel
                | Error::OtherText
                | Error::Overloaded(_)
                | Error::Store(_),
            ) => Self::No,
            Err(Error::Closed | _) => Self::Perhaps,
        }
    }
}

impl From<Result<TurnId, Error>> for Began {
    fn from(imported: Result<TurnId, Error>) -> Self {
        match imported {
            Ok(turn) => Self::Yes(turn),
            Err(Error::Store(cause)) if cause.may_have_happened() => Self::Perhaps,
            Err(Error::Closed) => Self::Perhaps,
            Err(_) => Self::No,
        }
    }
}

/// An answer of a person to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answered {
    /// The decision that the person gave.
    pub decision: Decision,
    /// The arguments that were shown.
    pub shown: Value,
    /// The moment of the answer.
    pub at: Timestamp,
    /// The deadline of the question.
    pub expires_at: Timestamp,
    /// The runtime's verdict; `None` if the runtime died before.
    pub verdict: Option<Verdict>,
}

/// Whether an answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It counts.
    Counts,
    /// The same words count, and were said before.
    Repeats,
    /// It does not.
    Refused,
    /// It is not known.
    Unknown,
}

impl Verdict {
    /// Reads the result of a decision.
    #[must_use]
    pub const fn of(result: &Result<(), DecisionError>) -> Self {
        match result {
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
    /// Whether it still runs, as far as the oracle knows.
    pub(crate) is_running: bool,
    /// Whether it returned a success.
    pub(crate) is_ok: bool,
}

/// All recorded facts.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    /// The submitted texts; no two are the same.
    pub(crate) asks: Vec<Asked>,
    /// The index of the last one that was submitted under a key, by session.
    pub(crate) keyed: BTreeMap<usize, usize>,
    /// The answers about the import of each session that had one; `None` where the runtime died
    /// before.
    pub(crate) imports: BTreeMap<usize, Option<Began>>,
    /// The ends that the asking persons received.
    pub(crate) ends: Vec<(TurnId, TurnEnding)>,
    /// The answers of persons, each recorded before it is given.
    pub(crate) answers: BTreeMap<CallId, Vec<Answered>>,
    /// The events that the readers of each session received, with their moments.
    pub(crate) heard: BTreeMap<usize, Vec<(Timestamp, Arc<SessionEvent>)>>,
    /// The cursor up to which each session was read.
    pub(crate) read_to: BTreeMap<usize, EventCursor>,
    /// The calls whose letters were sent, by token.
    pub(crate) letters: BTreeMap<String, Vec<CallId>>,
    /// The number of times that a person left each session.
    pub(crate) left: BTreeMap<usize, usize>,
    /// The moment at which the dismissal of a turn was acknowledged.
    pub(crate) dismissed: BTreeMap<TurnId, Timestamp>,
    /// The moments of each request to end a session's standing approvals, and of its
    /// acknowledgement.
    pub(crate) revoked: Vec<(usize, [Timestamp; 2])>,
    /// The resolutions of unknown effects, and whether the runtime acknowledged each.
    pub(crate) resolved: BTreeMap<CallId, Vec<(EffectResolution, bool)>>,
    /// The handlers that began, by call.
    pub(crate) begun: BTreeMap<CallId, Vec<Begun>>,
    /// The faults that were found before any comparison.
    pub(crate) findings: Findings,
}

impl Oracle {
    /// Records a line.
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Ready => {
                let handlers = self.begun.values_mut().flatten();
                handlers.for_each(|begun| begun.is_running = false);
            }
            Line::ShutDown => {}
            Line::Asks(asked) => {
                if asked.is_keyed {
                    self.keyed.insert(asked.session, self.asks.len());
                }
                self.asks.push(asked);
            }
            Line::Asked { index, began } => self.asks[index].began = Some(began),
            Line::Imports { session } => drop(self.imports.insert(session, None)),
            Line::Imported { session, began } => drop(self.imports.insert(session, Some(began))),
            Line::Found { counter, what } => self.findings.find(counter, what),
            Line::Ended { turn, ending, .. } => self.ends.push((turn, ending)),
            Line::Decides { call, answered } => {
                self.answers.entry(call).or_default().push(answered);
            }
            Line::Decided { call, index, verdict } => {
                let answered = self.answers.get_mut(&call).and_then(|all| all.get_mut(index));
                answered.expect("an answer is given before it is judged").verdict = Some(verdict);
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

    /// Counts the calls that took effect, by the received events.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        let took_effect = |(_, event): &&(Timestamp, Arc<SessionEvent>)| matches!(&event.kind, EventKind::ToolCallEnded { record } if record.effect == Effect::Committed);
        self.heard.values().flatten().filter(took_effect).count()
    }
}

/// The receiver of lines, in the order in which they are recorded.
pub type Sink = Arc<dyn Fn(&Line) + Send + Sync>;

/// Records lines. Cheap to clone.
#[derive(Clone, Default)]
pub struct Witness {
    oracle: Arc<Mutex<Oracle>>,
    sink: Option<Sink>,
}

impl Witness {
    /// Goes on from an oracle, and passes each line to a sink.
    pub fn new(oracle: Oracle, sink: Sink) -> Self {
        Self { oracle: Arc::new(Mutex::new(oracle)), sink: Some(sink) }
    }

    /// Locks the oracle.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().expect("no code under this lock panics")
    }

    /// Records a line.
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

    /// Records that a person is about to submit a text, and returns its index.
    pub(crate) fn asks(&self, asked: Asked) -> usize {
        self.written(Line::Asks(asked)).asks.len() - 1
    }

    /// Records that a person is about to answer, and returns the index of the answer.
    pub(crate) fn decides(&self, call: CallId, answered: Answered) -> usize {
        self.written(Line::Decides { call, answered }).answers[&call].len() - 1
    }

    /// Records a fault.
    pub(crate) fn finds(&self, counter: Counter, what: String) {
        self.note(Line::Found { counter, what });
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness").finish_non_exhaustive()
    }
}

/// Reads the token among the arguments of a call, or in their raw text if they were never
/// validated.
pub(crate) fn token_of(arguments: &Value) -> Option<String> {
    let token = |arguments: &Value| Some(arguments.get("token")?.as_str()?.to_owned());
    token(arguments).or_else(|| token(&serde_json::from_str(arguments.as_str()?).ok()?))
}
