//! What a group of facts rests on, read under the locks of its users, and what the facts make of it.
//! The facts are applied here, in their order, and then written at once.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use madang_actors::{
    ledger::{ChainEnd, SealKeys, Transition},
    port::{LedgerRow, ROW_BYTES, StoreError, TurnStep, Write},
    protocol::{
        CallId, Content, IdempotencyKey, ModelName, SessionId, Timestamp, TurnId, Usage, UserId,
    },
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{
    changes::{Changes, integer},
    claim::Claim,
    error::of_write,
    link,
    own::{Own, patiently},
    read::CALL,
};
use crate::store::rows::{
    chat::sealed_owner,
    columns::Columns as _,
    facts::describe,
    ledger,
    step::{Step, Taken},
    value::{self, json},
};

/// The sessions, users and calls that facts are about, as they stand before and after them.
pub(super) struct Book<'a> {
    keys: &'a SealKeys,
    users: BTreeMap<String, StoredBytes>,
    sessions: HashMap<SessionId, Session>,
    calls: HashMap<CallId, Call<'a>>,
    /// Rows that no later fact changes.
    changes: Changes,
}

/// What is stored of a user.
#[derive(Debug, Clone, Copy)]
struct StoredBytes {
    before: i64,
    added: i64,
}

/// A session.
struct Session {
    user: UserId,
    /// Why the row's user is not surely the owner.
    unsealed: Option<String>,
    opened_at: Timestamp,
    last_at: Option<i64>,
    title: Option<String>,
    is_temporary: bool,
    chain: ChainEnd,
    open: Option<Turn>,
    is_new: bool,
    is_changed: bool,
}

/// The open turn of a session.
struct Turn {
    turn: TurnId,
    /// What its beginning says, if that is one of the facts.
    begins: Option<Beginning>,
    round: i64,
    round_from: i64,
    dismissed_at: Option<i64>,
    resumes: i64,
    usage: String,
    end: Option<End>,
    is_changed: bool,
}

struct Beginning {
    at: i64,
    options: String,
    language: Option<String>,
    counted: i64,
    key: Option<String>,
    text: Vec<u8>,
}

struct End {
    at: i64,
    behind: i64,
    ending: &'static str,
    error: Option<String>,
}

/// A call.
#[derive(Default)]
struct Call<'a> {
    /// `None` if the ledger has no such call.
    row: Option<LedgerRow>,
    /// Why its row cannot be read.
    unreadable: Option<String>,
    /// The step that it took last, if that may come again.
    last: Option<Cow<'a, Transition>>,
    /// The arguments that a step of these facts has.
    arguments: Option<String>,
    is_changed: bool,
}

impl<'a> Book<'a> {
    /// Locks what these facts are about, and reads it.
    pub(super) async fn open(
        own: &mut Own<'_>,
        keys: &'a SealKeys,
        claim: &Claim,
        facts: &'a [Write],
    ) -> Result<Self, StoreError> {
        let mut book = Self {
            keys,
            users: BTreeMap::new(),
            sessions: HashMap::new(),
            calls: HashMap::new(),
            changes: Changes::default(),
        };
        let names: BTreeSet<&str> = facts.iter().map(|fact| session_of(fact).as_str()).collect();
        let opening = facts.iter().filter_map(|fact| match fact {
            Write::Session { user, .. } => Some(user.as_str()),
            _ => None,
        });
        let opening: BTreeSet<&str> = opening.collect();
        let held = own
            .query("SELECT * FROM madang.hold_v1($1, $2, $3, $4)")
            .bind(claim.node)
            .bind(claim.claim)
            .bind(names.into_iter().collect::<Vec<_>>())
            .bind(opening.into_iter().collect::<Vec<_>>());
        let rows = patiently(held.fetch_all(&mut *own.db)).await;
        for row in &rows.map_err(|cause| of_write(cause, || describe(facts)))? {
            book.add_row(row)?;
        }
        book.read_calls(own, facts).await?;
        Ok(book)
    }

    /// Lists the users whose rows are locked.
    pub(super) fn users(&self) -> impl Iterator<Item = &String> {
        self.users.keys()
    }

    /// Reads a row of a session, or of a user.
    fn add_row(&mut self, row: &PgRow) -> Result<(), StoreError> {
        let bytes = StoredBytes { before: row.integer("bytes")?, added: 0 };
        self.users.insert(row.text("user_id")?.to_owned(), bytes);
        let Some(name) = row.maybe_text("session")? else { return Ok(()) };
        let name = value::session(name)?;
        let owner = sealed_owner(row, &name, self.keys)?;
        let open = match row.maybe_text("turn")? {
            None => None,
            Some(turn) => Some(Turn {
                turn: value::turn(turn)?,
                begins: None,
                round: row.integer("round")?,
                round_from: row.integer("round_from")?,
                dismissed_at: row.maybe_integer("dismissed_at")?,
                resumes: row.integer("resumes")?,
                usage: row.text("usage")?.to_owned(),
                end: None,
                is_changed: false,
            }),
        };
        let session = Session {
            user: value::user(row.text("user_id")?)?,
            unsealed: owner.err().map(|cause| cause.to_string()),
            opened_at: row.moment("opened_at")?,
            last_at: row.maybe_integer("last_at")?,
            title: row.maybe_text("title")?.map(str::to_owned),
            is_temporary: row.is_set("is_temporary")?,
            chain: ledger::chain_end(row)?,
            open,
            is_new: false,
            is_changed: false,
        };
        self.sessions.insert(name, session);
        Ok(())
    }

    /// Reads the calls that take steps, those whose approvals they rest on, and the last step of each
    /// call whose step may be its last one again.
    async fn read_calls(
        &mut self,
        own: &mut Own<'_>,
        facts: &'a [Write],
    ) -> Result<(), StoreError> {
        let mut ids: BTreeSet<Uuid> = BTreeSet::new();
        for fact in facts {
            if let Write::Call { call, transition, .. } = fact {
                ids.insert(call.uuid());
                ids.extend(transition.rests_on().map(CallId::uuid));
            }
        }
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let rows = own.query(&format!("{CALL} WHERE c.call = ANY ($1)")).bind(&ids);
        for row in &own.all(rows).await? {
            let call = value::call_id(row.text("call")?)?;
            let mut found = Call::default();
            match ledger::call(row) {
                Ok(row) => found.row = row,
                Err(cause) => {
                    let source = std::error::Error::source(&cause).map(ToString::to_string);
                    found.unreadable = Some(source.unwrap_or_default());
                }
            }
            self.calls.insert(call, found);
        }
        let mut seen = BTreeSet::new();
        let mut again = Vec::new();
        for fact in facts {
            let Write::Call { call, transition, .. } = fact else { continue };
            let row = self.calls.get(call).and_then(|call| call.row.as_ref());
            if seen.insert(*call) && row.is_some_and(|row| row.may_repeat(transition)) {
                again.push(call.uuid());
            }
        }
        if again.is_empty() {
            return Ok(());
        }
        let last = own.query(
            "SELECT DISTINCT ON (call) call::text AS call, transition FROM madang.transitions \
             WHERE call = ANY ($1) ORDER BY call, position DESC",
        );
        for row in &own.all(last.bind(&again)).await? {
            let call = value::call_id(row.text("call")?)?;
            let last = value::from_json(row.text("transition")?)?;
            self.calls.entry(call).or_default().last = Some(Cow::Owned(last));
        }
        Ok(())
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
        let (user, chain) = (its.user.clone(), its.chain.clone());
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

impl Session {
    fn write(&mut self, name: &SessionId, keys: &SealKeys, changes: &mut Changes) {
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
    fn take(
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

    fn write(self, session: &SessionId, user: &UserId, changes: &mut Changes) {
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
fn propose(changes: &mut Changes, row: &LedgerRow) -> Result<(), StoreError> {
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
fn arguments_of(transition: &Transition) -> Option<String> {
    match transition {
        Transition::Awaiting { arguments, .. } | Transition::Running { arguments, .. } => {
            Some(arguments.to_string())
        }
        Transition::Approved { arguments, .. } => arguments.as_ref().map(ToString::to_string),
        Transition::Ended(ended) => ended.arguments.as_ref().map(ToString::to_string),
        Transition::Proposed(_) | Transition::Resolved { .. } | Transition::Revoked { .. } => None,
    }
}

/// Returns the session that a fact is about.
pub(super) const fn session_of(fact: &Write) -> &SessionId {
    match fact {
        Write::Session { session, .. }
        | Write::Titled { session, .. }
        | Write::Temporary { session }
        | Write::Erased { session }
        | Write::Deleted { session, .. }
        | Write::TurnStarted { session, .. }
        | Write::Turn { session, .. }
        | Write::TurnEnded { session, .. }
        | Write::Message { session, .. }
        | Write::Call { session, .. }
        | Write::Revoke { session, .. } => session,
    }
}

fn untrue(fact: &Write) -> StoreError {
    StoreError::refused(describe(std::slice::from_ref(fact)))
}
