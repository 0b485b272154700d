//! A step of a call becomes a link of its session's chain and what its row says from then on.

use madang_actors::{
    failpoint::is_planted,
    ledger::{ChainEnd, Salt, Transition, next_hash},
    port::{CallKey, LedgerFilter, LedgerRow, StoreError},
    protocol::{CallId, SessionId, Timestamp, UserId},
};
use sqlx::sqlite::SqliteRow;

use super::{own::Own, read, row, script::Script};

/// A step to be written.
pub(super) struct Step<'a> {
    pub(super) session: &'a SessionId,
    pub(super) call: CallId,
    pub(super) at: Timestamp,
    pub(super) transition: &'a Transition,
}

/// What is known of a call and its session's chain, so that its next step need not read it.
#[derive(Debug)]
pub(super) struct CallHead {
    call: CallKey,
    chain: ChainEnd,
    /// `None`: the ledger has no such call.
    row: Option<LedgerRow>,
}

impl CallHead {
    pub(super) fn is_of_its_session(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.session == self.call.session)
    }
}

impl Step<'_> {
    /// It is known what comes before it: that was read, has just been written, or is about to be.
    pub(super) fn is_next_of(&self, known: Option<&CallHead>) -> bool {
        known.is_some_and(|CallHead { call, row, .. }| {
            call.call == self.call
                && call.session == *self.session
                && row.as_ref().is_none_or(|row| !row.may_repeat(self.transition))
        })
    }
}

/// Adds a step of a call, unless the call took it last already.
pub(super) async fn take(
    own: &mut Own<'_>,
    step: &Step<'_>,
    known: Option<CallHead>,
    script: &mut Script,
) -> Result<CallHead, StoreError> {
    let Step { session, call, at, transition } = *step;
    let known = match known.filter(|known| step.is_next_of(Some(known))) {
        Some(known) => known,
        None => look_up(own, CallKey { session: session.clone(), call }).await?,
    };
    if let Some(row) = &known.row
        && row.may_repeat(transition)
        && last_step(own, session, call).await? == *transition
    {
        return Ok(known);
    }
    let CallHead { call: key, chain, row: before } = known;
    let grant = match transition.rests_on() {
        Some(granting) => {
            let filter = LedgerFilter { call: Some(granting), ..LedgerFilter::default() };
            read::calls(own, &filter).await?.pop()
        }
        None => None,
    };
    let (before, grant, keys) = (before.as_ref(), grant.as_ref(), Some(own.keys));
    let row = LedgerRow::after(before, grant, keys, session, call, at, transition)?;
    let salt = Salt::random().map_err(StoreError::unavailable)?;
    let head = if is_planted("a step is left out of the chain") {
        chain.head
    } else {
        next_hash(&chain.head, &salt, session, call, at, transition)
    };
    let chain = ChainEnd { length: chain.length + 1, head };
    link(script, step, &salt, &chain)?;
    if before.is_none() {
        propose(script, &row)?
    } else {
        follow(script, &row)
    }
    Ok(CallHead { call: key, chain, row: Some(row) })
}

/// The end of the session's chain and where the call stands.
pub(super) const STANDS: &str = "SELECT s.chain_length, s.chain_head, c.* FROM madang_sessions AS s \
     LEFT JOIN madang_calls AS c ON c.call = $2 WHERE s.session = $1";

async fn look_up(own: &mut Own<'_>, key: CallKey) -> Result<CallHead, StoreError> {
    let CallKey { session, call } = &key;
    let question = sqlx::query(own.sql(STANDS)).bind(session.as_str()).bind(call.to_string());
    let found = question.fetch_optional(&mut *own.db).await.map_err(StoreError::unavailable)?;
    let found =
        found.ok_or_else(|| StoreError::refused(format!("there is no session {session}")))?;
    // What cannot be read keeps this call from its next step, and no other call from its own.
    let known = stands(key, &found).map_err(|cause| {
        let cause = std::error::Error::source(&cause).map(ToString::to_string).unwrap_or_default();
        StoreError::refused(format!("where the call stands is not known: {cause}"))
    })?;
    if !known.is_of_its_session() {
        let CallKey { call, .. } = known.call;
        return Err(StoreError::refused(format!("call {call} belongs to another session")));
    }
    Ok(known)
}

/// What is known by a row of [`STANDS`].
pub(super) fn stands(call: CallKey, found: &SqliteRow) -> Result<CallHead, StoreError> {
    Ok(CallHead { chain: row::chain_end(found)?, row: row::call(found)?, call })
}

async fn last_step(
    own: &mut Own<'_>,
    session: &SessionId,
    call: CallId,
) -> Result<Transition, StoreError> {
    let last = sqlx::query_scalar::<_, String>(own.sql(
        "SELECT transition FROM madang_transitions WHERE session = $1 AND call = $2 ORDER BY position DESC LIMIT 1",
    ))
    .bind(session.as_str())
    .bind(call.to_string())
    .fetch_one(&mut *own.db)
    .await
    .map_err(StoreError::unavailable)?;
    row::from_json(&last)
}

/// The step becomes the last link of its session's chain; the session row follows by itself.
fn link(
    script: &mut Script,
    step: &Step<'_>,
    salt: &Salt,
    chain: &ChainEnd,
) -> Result<(), StoreError> {
    script.statements(
        1,
        "INSERT INTO madang_transitions (session, position, call, at, step, transition, salt, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    );
    script.bind(step.session.as_str()).bind(place(chain.length)?).bind(step.call.to_string());
    script
        .bind(step.at.millis())
        .bind(row::step_name(step.transition))
        .bind(row::json(step.transition));
    script.bind(salt.bytes().as_slice()).bind(chain.head.bytes().as_slice());
    Ok(())
}

/// The first step: the call takes its place in the transcript.
fn propose(script: &mut Script, row: &LedgerRow) -> Result<(), StoreError> {
    script.statements(
        2,
        "INSERT INTO madang_messages (session, seq, turn, at, call) VALUES ($1, $2, $3, $4, $5); \
         INSERT INTO madang_calls (session, seq, turn, proposed_at, call, user, name, raw_arguments, state) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'proposed')",
    );
    script.bind(row.session.as_str()).bind(place(row.seq)?).bind(row.turn.to_string());
    script.bind(row.proposed_at.millis()).bind(row.call.to_string());
    script.bind(row.user.as_str()).bind(&*row.name).bind(&*row.raw_arguments);
    Ok(())
}

/// Every later step.
fn follow(script: &mut Script, row: &LedgerRow) {
    script.search(
        "UPDATE madang_calls SET arguments = $2, digest = $3, state = $4, outcome = $5, effect = $6, result = $7, \
         decided_by = $8, ended_at = $9, asked = $10, approval = $11, approved_at = $12, expires_at = $13, \
         revoked_at = $14, resolved_by = $15, resolved_at = $16, schema = $17, shown = $18, seal = $19 WHERE call = $1",
    );
    script
        .bind(row.call.to_string())
        .bind((!row.arguments.is_string()).then(|| row.arguments.to_string()));
    script.bind(row.digest.as_ref().map(|digest| digest.bytes().as_slice())).bind(row.state.name());
    script.bind(row.outcome.as_ref().map(row::json)).bind(row.effect.as_ref().map(row::name));
    script
        .bind(row.result.as_ref().map(row::name))
        .bind(row.decided_by.as_ref().map(UserId::as_str));
    let moment = |at: Option<Timestamp>| at.map(Timestamp::millis);
    script.bind(moment(row.ended_at)).bind(row.asked.as_ref().map(row::json));
    script.bind(row.approval.as_ref().map(row::json)).bind(moment(row.approved_at));
    script.bind(moment(row.expires_at)).bind(moment(row.revoked_at));
    script.bind(row.resolved_by.as_ref().map(row::json)).bind(moment(row.resolved_at));
    script.bind(row.schema.as_ref().map(|schema| schema.bytes().as_slice()));
    script.bind(row.shown.as_ref().map(row::json)).bind(row.seal.map(String::from));
}

/// A place as SQLite counts.
pub(super) fn place(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::refused(format!("there is no place {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_call_is_known_of_that_call_only() {
        let [s, t] = ["s", "t"].map(|name| SessionId::new(name).expect("a name"));
        let [one, two] = [1, 2].map(|id| CallId::new(uuid::Uuid::from_u128(id)));
        let transition = Transition::Revoked { by: UserId::new("kim").expect("a name") };
        let call = CallKey { session: s.clone(), call: one };
        let known = CallHead { call, chain: ChainEnd::EMPTY, row: None };
        let is_next = |session, call| {
            let at = Timestamp::from_millis(1);
            Step { session, call, at, transition: &transition }.is_next_of(Some(&known))
        };
        assert!(is_next(&s, one));
        assert!(!is_next(&s, two) && !is_next(&t, one));
    }
}
