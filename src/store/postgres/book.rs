//! Applies a group of facts, in their order, to what they rest on, so that all is written at once.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use madang_actors::{
    ledger::{ChainEnd, SealKeys},
    port::{ROW_BYTES, StoreError, Write},
    protocol::{CallId, Content, IdempotencyKey, SessionId, Timestamp, TurnId, Usage, UserId},
};

use super::{
    changes::{Changes, integer},
    held::{Beginning, Call, End, Session, StoredBytes, Turn, arguments_of, propose},
    link,
};
use crate::store::rows::{
    facts::describe,
    step::{Step, Taken},
    value::json,
};

/// The sessions, users and calls that facts are about, as they stand before and after them.
pub(super) struct Book<'a> {
    pub(super) keys: &'a SealKeys,
    pub(super) users: BTreeMap<String, StoredBytes>,
    pub(super) sessions: HashMap<SessionId, Session>,
    pub(super) calls: HashMap<CallId, Call<'a>>,
    /// Rows that no later fact changes.
    pub(super) changes: Changes,
}

impl<'a> Book<'a> {
    /// Lists the users whose rows are locked.
    pub(super) fn users(&self) -> impl Iterator<Item = &String> {
        self.users.keys()
    }

    /// Applies the next fact.
    pub(super) fn apply(&mut self, fact: &'a Write) -> Result<(), StoreError> {
        match fact {
            Write::Session { session, user, at } => self.open_session(session, user, *at),
            Write::Titled { session, user, title } => {
                let its = self.sessions.get_mut(session).filter(|its| its.user == *user);
                let its = its.ok_or_else(|| untrue(fact))?;
                its.title = title.as_ref().map(ToString::to_string);
                its.is_changed = true;
                Ok(())
            }
            Write::Temporary { session } => {
                let its = self.sessions.get_mut(session).ok_or_else(|| untrue(fact))?;
                its.is_temporary = true;
                its.is_changed = true;
                Ok(())
            }
            Write::TurnStarted { .. } => self.begin_turn(fact),
            Write::Turn { session, turn, at, step } => {
                let its = self.open_turn(session, *turn).ok_or_else(|| untrue(fact))?;
                its.take(step, *at, || untrue(fact))
            }
            Write::TurnEnded { session, turn, at, behind, ending, error, usage } => {
                let behind = integer(*behind)?;
                let its = self.open_turn(session, *turn).ok_or_else(|| untrue(fact))?;
                its.end = Some(End {
                    at: at.millis(),
                    behind,
                    ending: ending.into(),
                    error: error.as_ref().map(json),
                });
                its.usage = json(usage);
                its.is_changed = true;
                self.end_turn(session, at.millis());
                Ok(())
            }
            Write::Message { message, .. } if matches!(message.content, Content::ToolCall(_)) => {
                Err(StoreError::refused("a tool call enters the transcript through its ledger"))
            }
            Write::Message { session, message } => {
                let content = json(&message.content);
                let its = self.sessions.get_mut(session).ok_or_else(|| untrue(fact))?;
                let at = message.at.millis();
                if matches!(message.content, Content::User { .. })
                    && its.last_at.is_none_or(|last| last < at)
                {
                    its.last_at = Some(at);
                    its.is_changed = true;
                }
                let user = its.user.clone();
                self.count(&user, content.len() as u64 + ROW_BYTES);
                let messages = &mut self.changes.messages;
                messages.session.push(session.as_str().to_owned());
                messages.seq.push(integer(message.seq)?);
                messages.turn.push(message.turn.uuid());
                messages.at.push(at);
                messages.content.push(Some(content));
                messages.call.push(None);
                Ok(())
            }
            Write::Call { session, call, at, transition } => {
                let step = Step { session, call: *call, at: *at, transition };
                self.take_step(&step)
            }
            Write::Erased { .. } | Write::Deleted { .. } | Write::Revoke { .. } => {
                unreachable!("what is not applied to the book is written apart")
            }
        }
    }

    fn open_session(
        &mut self,
        session: &SessionId,
        user: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if let Some(its) = self.sessions.get(session) {
            return match &its.unsealed {
                Some(cause) => Err(StoreError::refused(cause.clone())),
                None if its.user == *user => Ok(()),
                None => Err(StoreError::refused(format!("session {session} is another user's"))),
            };
        }
        let new = Session {
            user: user.clone(),
            unsealed: None,
            opened_at: at,
            last_at: None,
            title: None,
            is_temporary: false,
            chain: ChainEnd::EMPTY,
            open: None,
            is_new: true,
            is_changed: false,
        };
        self.sessions.insert(session.clone(), new);
        Ok(())
    }

    fn begin_turn(&mut self, fact: &Write) -> Result<(), StoreError> {
        let Write::TurnStarted { session, turn, at, options, text, max_stored_bytes } = fact else {
            unreachable!("it is the beginning of a turn")
        };
        let its = self.sessions.get(session).ok_or_else(|| untrue(fact))?;
        let user = its.user.clone();
        let is_open = its.open.is_some();
        let stored = self.users.get(user.as_str()).map_or(0, |bytes| bytes.before + bytes.added);
        if u64::try_from(stored).is_ok_and(|stored| stored > *max_stored_bytes) {
            return Err(StoreError::TooMuchStored);
        }
        if is_open {
            return Err(untrue(fact));
        }
        let written = json(options);
        let counted = if options.instructions.is_some() { written.len() as u64 } else { 0 };
        self.count(&user, counted);
        let begins = Beginning {
            at: at.millis(),
            language: options.language.as_ref().map(ToString::to_string),
            options: written,
            counted: integer(counted)?,
            key: options.key.as_ref().map(|key: &IdempotencyKey| key.as_str().to_owned()),
            text: text.bytes().to_vec(),
        };
        let open = Turn {
            turn: *turn,
            begins: Some(begins),
            round: 0,
            round_from: 0,
            dismissed_at: None,
            resumes: 0,
            usage: json(&Usage::default()),
            end: None,
            is_changed: true,
        };
        let its = self.sessions.get_mut(session).ok_or_else(|| untrue(fact))?;
        its.open = Some(open);
        Ok(())
    }

    /// Finds a turn that has begun and not ended.
    fn open_turn(&mut self, session: &SessionId, turn: TurnId) -> Option<&mut Turn> {
        self.sessions.get_mut(session)?.open.as_mut().filter(|open| open.turn == turn)
    }

    /// Closes the open turn of a session, which has its end.
    fn end_turn(&mut self, session: &SessionId, at: i64) {
        let Some(its) = self.sessions.get_mut(session) else { return };
        if its.last_at.is_some_and(|last| last < at) {
            its.last_at = Some(at);
            its.is_changed = true;
        }
        if let Some(ended) = its.open.take() {
            ended.write(session, &its.user, &mut self.changes);
        }
    }

    fn take_step(&mut self, step: &Step<'a>) -> Result<(), StoreError> {
        let Step { session, call, transition, .. } = *step;
        let its = self.sessions.get(session);
        let its =
            its.ok_or_else(|| StoreError::refused(format!("there is no session {session}")))?;
        let (user, chain) = (its.user.clone(), its.chain);
        let of = self.calls.entry(call).or_default();
        if let Some(cause) = &of.unreadable {
            let why = format!("where the call stands is not known: {cause}");
            return Err(StoreError::refused(why));
        }
        if of.row.as_ref().is_some_and(|row| row.session != *session) {
            return Err(StoreError::refused(format!("call {call} belongs to another session")));
        }
        if let Some(row) = &of.row
            && row.may_repeat(transition)
            && of.last.as_deref() == Some(transition)
        {
            return Ok(());
        }
        let is_new = of.row.is_none();
        let before = of.row.take();
        let standing = transition.rests_on().and_then(|by_call| self.calls.get(&by_call));
        let standing = standing.and_then(|standing| standing.row.as_ref());
        let taken = step.take(&chain, before.as_ref(), standing, Some(self.keys));
        let of = self.calls.entry(call).or_default();
        let Taken { salt, chain, row } = match taken {
            Ok(taken) => taken,
            Err(refusal) => {
                of.row = before;
                return Err(refusal);
            }
        };
        if let Some(arguments) = arguments_of(transition) {
            of.arguments = Some(arguments);
        }
        of.last = Some(Cow::Borrowed(transition));
        of.is_changed = true;
        if is_new {
            propose(&mut self.changes, &row)?;
        }
        of.row = Some(row);
        let length = link::add(&mut self.changes, step, &salt, chain.length, &chain.head)?;
        self.count(&user, length as u64 + ROW_BYTES);
        if let Some(its) = self.sessions.get_mut(session) {
            its.chain = chain;
        }
        Ok(())
    }

    fn count(&mut self, user: &UserId, bytes: u64) {
        if let Some(stored) = self.users.get_mut(user.as_str()) {
            stored.added += i64::try_from(bytes).unwrap_or(i64::MAX);
        }
    }

    /// Returns all rows that the applied facts write.
    pub(super) fn into_changes(self) -> Changes {
        let Self { keys, users, mut sessions, calls, mut changes } = self;
        for (user, StoredBytes { added, .. }) in users {
            changes.users.user.push(user);
            changes.users.bytes.push(added);
        }
        for (name, its) in &mut sessions {
            its.write(name, keys, &mut changes);
        }
        for (call, of) in calls {
            if let Some(row) = of.row.filter(|_| of.is_changed) {
                let calls = &mut changes.calls;
                calls.call.push(call.uuid());
                calls.arguments.push(of.arguments);
                calls.asked.push(row.asked.as_ref().map(json));
                calls.shown.push(row.shown.as_ref().map(json));
                calls.outcome.push(row.outcome.as_ref().map(json));
                calls.approval.push(row.approval.as_ref().map(json));
                calls.seal.push(row.seal.map(String::from));
                calls.resolved_by.push(row.resolved_by.as_ref().map(json));
            }
        }
        changes
    }
}

fn untrue(fact: &Write) -> StoreError {
    StoreError::refused(describe(std::slice::from_ref(fact)))
}
