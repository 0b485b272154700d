//! Sessions, turns and calls as a group of facts changes them, and the rows that this makes.

use std::borrow::Cow;

use madang_actors::{
    ledger::{ChainEnd, SealKeys, Transition},
    port::{LedgerRow, StoreError, TurnStep},
    protocol::{ModelName, SessionId, Timestamp, TurnId, UserId},
};

use super::changes::{Changes, integer};
use crate::store::rows::value::json;

/// What is stored of a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredBytes {
    pub(super) before: i64,
    pub(super) added: i64,
}

/// A session.
pub(super) struct Session {
    pub(super) user: UserId,
    /// Why the row's user is not surely the owner.
    pub(super) unsealed: Option<String>,
    pub(super) opened_at: Timestamp,
    pub(super) last_at: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) is_temporary: bool,
    pub(super) chain: ChainEnd,
    pub(super) open: Option<Turn>,
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
}

/// The open turn of a session.
pub(super) struct Turn {
    pub(super) turn: TurnId,
    /// What its beginning says, if that is one of the facts.
    pub(super) begins: Option<Beginning>,
    pub(super) round: i64,
    pub(super) round_from: i64,
    pub(super) dismissed_at: Option<i64>,
    pub(super) resumes: i64,
    pub(super) usage: String,
    pub(super) end: Option<End>,
    pub(super) is_changed: bool,
}

pub(super) struct Beginning {
    pub(super) at: i64,
    pub(super) options: String,
    pub(super) language: Option<String>,
    pub(super) counted: i64,
    pub(super) key: Option<String>,
    pub(super) text: Vec<u8>,
}

pub(super) struct End {
    pub(super) at: i64,
    pub(super) behind: i64,
    pub(super) ending: &'static str,
    pub(super) error: Option<String>,
}

/// A call.
#[derive(Default)]
pub(super) struct Call<'a> {
    /// `None` if the ledger has no such call.
    pub(super) row: Option<LedgerRow>,
    /// Why its row cannot be read.
    pub(super) unreadable: Option<String>,
    /// The step that it took last, if that may come again.
    pub(super) last: Option<Cow<'a, Transition>>,
    /// The arguments that a step of these facts has.
    pub(super) arguments: Option<String>,
    pub(super) is_changed: bool,
}

impl Session {
    pub(super) fn write(&mut self, name: &SessionId, keys: &SealKeys, changes: &mut Changes) {
        let text = name.as_str();
        if self.is_new {
            changes.new_sessions.session.push(text.to_owned());
            changes.new_sessions.user.push(self.user.as_str().to_owned());
            changes.new_sessions.opened_at.push(self.opened_at.millis());
            let seal = keys.owner(name, &self.user, self.opened_at);
            changes.new_sessions.seal.push(seal.map(String::from));
        }
        if self.is_changed {
            changes.sessions.session.push(text.to_owned());
            changes.sessions.last_at.push(self.last_at);
            changes.sessions.title.push(self.title.clone());
            changes.sessions.is_temporary.push(self.is_temporary);
        }
        if let Some(open) = self.open.take().filter(|open| open.is_changed) {
            open.write(name, &self.user, changes);
        }
    }
}

impl Turn {
    pub(super) fn take(
        &mut self,
        step: &TurnStep,
        at: Timestamp,
        untrue: impl FnOnce() -> StoreError,
    ) -> Result<(), StoreError> {
        match step {
            TurnStep::Called { round, from, usage } => {
                if i64::from(*round) != self.round + 1 {
                    return Err(untrue());
                }
                self.round = (*round).into();
                self.round_from = integer(*from)?;
                self.usage = json(usage);
                self.resumes = 0;
            }
            TurnStep::Dismissed => self.dismissed_at = Some(at.millis()),
            TurnStep::Resumed => self.resumes += 1,
            TurnStep::Suspended => self.resumes = 0,
        }
        self.is_changed = true;
        Ok(())
    }

    pub(super) fn write(self, session: &SessionId, user: &UserId, changes: &mut Changes) {
        let session = session.as_str().to_owned();
        let end = self.end.as_ref();
        let ended_at = end.map(|end| end.at);
        let ended_behind = end.map(|end| end.behind);
        let ending = end.map(|end| end.ending.to_owned());
        let error = end.and_then(|end| end.error.clone());
        let Some(begins) = self.begins else {
            let turns = &mut changes.turns;
            turns.session.push(session);
            turns.turn.push(self.turn.uuid());
            turns.round.push(self.round);
            turns.round_from.push(self.round_from);
            turns.dismissed_at.push(self.dismissed_at);
            turns.resumes.push(self.resumes);
            turns.ended_at.push(ended_at);
            turns.ended_behind.push(ended_behind);
            turns.ending.push(ending);
            turns.error.push(error);
            turns.usage.push(self.usage);
            return;
        };
        let turns = &mut changes.new_turns;
        turns.session.push(session);
        turns.turn.push(self.turn.uuid());
        turns.user.push(user.as_str().to_owned());
        turns.began_at.push(begins.at);
        turns.options.push(begins.options);
        turns.language.push(begins.language);
        turns.counted.push(begins.counted);
        turns.key.push(begins.key);
        turns.text.push(begins.text);
        turns.round.push(self.round);
        turns.round_from.push(self.round_from);
        turns.dismissed_at.push(self.dismissed_at);
        turns.resumes.push(self.resumes);
        turns.ended_at.push(ended_at);
        turns.ended_behind.push(ended_behind);
        turns.ending.push(ending);
        turns.error.push(error);
        turns.usage.push(self.usage);
    }
}

/// Writes the first step of a call, which sets its number in the transcript.
pub(super) fn propose(changes: &mut Changes, row: &LedgerRow) -> Result<(), StoreError> {
    let session = row.session.as_str().to_owned();
    let seq = integer(row.seq)?;
    let messages = &mut changes.messages;
    messages.session.push(session.clone());
    messages.seq.push(seq);
    messages.turn.push(row.turn.uuid());
    messages.at.push(row.proposed_at.millis());
    messages.content.push(None);
    messages.call.push(Some(row.call.uuid()));
    let calls = &mut changes.proposed;
    calls.call.push(row.call.uuid());
    calls.session.push(session);
    calls.turn.push(row.turn.uuid());
    calls.seq.push(seq);
    calls.user.push(row.user.as_str().to_owned());
    calls.name.push(row.name.as_bytes().to_vec());
    calls.raw_arguments.push(row.raw_arguments.as_bytes().to_vec());
    calls.model.push(row.model.as_ref().map(|model: &ModelName| model.as_str().to_owned()));
    calls.opaque.push(row.opaque.as_ref().map(|opaque| opaque.as_bytes().to_vec()));
    Ok(())
}

/// Returns the validated arguments of a step, if it has any.
pub(super) fn arguments_of(transition: &Transition) -> Option<String> {
    match transition {
        Transition::Awaiting { arguments, .. } | Transition::Running { arguments, .. } => {
            Some(arguments.to_string())
        }
        Transition::Approved { arguments, .. } => arguments.as_ref().map(ToString::to_string),
        Transition::Ended(ended) => ended.arguments.as_ref().map(ToString::to_string),
        Transition::Proposed(_) | Transition::Resolved { .. } | Transition::Revoked { .. } => None,
    }
}
