//! Reads what a group of facts rests on, under the locks of its users.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use madang_actors::{
    ledger::SealKeys,
    port::{StoreError, Write},
    protocol::{CallId, SessionId},
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{
    book::Book,
    changes::Changes,
    claim::Claim,
    error::of_write,
    held::{Call, Session, StoredBytes, Turn},
    own::{Own, patiently},
    read::CALL,
};
use crate::store::rows::{
    chat::sealed_owner, columns::Columns as _, facts::describe, ledger, value,
};

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
}

/// Returns the session that a fact is about.
const fn session_of(fact: &Write) -> &SessionId {
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
