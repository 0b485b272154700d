//! Writes a step of a call: a link of its session's chain, and the new state of its row.

use super::{
    call_head::{CallHead, is_next_of},
    calls, error,
    own::Own,
    script::Script,
};
use crate::store::rows::{
    ledger,
    step::{Step, Taken},
    value,
};
use madang_actors::{
    ledger::{ChainEnd, Ended, Salt, Transition},
    port::{LedgerFilter, LedgerRow, StoreError, poll_before_park},
    protocol::{CallId, Digest, ModelName, SessionId, Timestamp, UserId},
};
use sqlx::sqlite::SqliteRow;

/// Adds a step of a call, unless it repeats the call's last step.
pub(super) async fn take(
    own: &mut Own<'_>,
    step: &Step<'_>,
    known: Option<CallHead>,
    script: &mut Script,
) -> Result<CallHead, StoreError> {
    let Step { session, call, transition, .. } = *step;
    let known = match known.filter(|known| is_next_of(step, Some(known))) {
        Some(known) => known,
        None => look_up(own, session, call).await?,
    };
    if let Some(row) = &known.row
        && row.may_repeat(transition)
        && last_step(own, session, call).await? == *transition
    {
        return Ok(known);
    }
    let standing = match transition.rests_on() {
        Some(by_call) => {
            let filter = LedgerFilter::call(by_call);
            calls::read(own, &filter).await?.pop()
        }
        None => None,
    };
    let Taken { salt, chain, row } =
        step.take(&known.chain, known.row.as_ref(), standing.as_ref(), Some(own.keys))?;
    link(script, step, &salt, &chain)?;
    write_row(script, &row, transition)?;
    Ok(CallHead { session: session.clone(), call, chain, row: Some(row) })
}

/// Runs these statements, and reads the end of the session's chain and the call's row in the same
/// trip. `None` if the session does not exist.
pub(super) async fn look_up_behind(
    own: &mut Own<'_>,
    before: &str,
    session: &SessionId,
    call: CallId,
) -> Result<Option<SqliteRow>, StoreError> {
    let statements = own.sql(&format!(
        "{before}SELECT s.chain_length, s.chain_head, c.* FROM madang_sessions AS s \
         LEFT JOIN madang_calls AS c ON c.call = $2 WHERE s.session = $1"
    ));
    let question = sqlx::query(statements).bind(session.as_str()).bind(call.to_string());
    poll_before_park(question.fetch_optional(&mut *own.db)).await.map_err(error::unavailable)
}

async fn look_up(
    own: &mut Own<'_>,
    session: &SessionId,
    call: CallId,
) -> Result<CallHead, StoreError> {
    let found = look_up_behind(own, "", session, call).await?;
    let found =
        found.ok_or_else(|| StoreError::refused(format!("there is no session {session}")))?;
    head(&found, session, call)
}

/// Reads the call's state from a looked up row.
pub(super) fn head(
    found: &SqliteRow,
    session: &SessionId,
    call: CallId,
) -> Result<CallHead, StoreError> {
    // An unreadable row blocks the next step of this call only.
    let unknown = |cause: StoreError| {
        let cause = std::error::Error::source(&cause).map(ToString::to_string).unwrap_or_default();
        StoreError::refused(format!("where the call stands is not known: {cause}"))
    };
    let chain = ledger::chain_end(found).map_err(unknown)?;
    let row: Option<LedgerRow> = ledger::call(found).map_err(unknown)?;
    if row.as_ref().is_some_and(|row| row.session != *session) {
        return Err(StoreError::refused(format!("call {call} belongs to another session")));
    }
    Ok(CallHead { session: session.clone(), call, chain, row })
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
    value::from_json(&last)
}

/// Appends the step to its session's chain; a trigger updates the session's row.
fn link(
    script: &mut Script,
    step: &Step<'_>,
    salt: &Salt,
    chain: &ChainEnd,
) -> Result<(), StoreError> {
    script.statement(
        "INSERT INTO madang_transitions (session, position, call, at, step, transition, salt, hash) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    script.bind(step.session.as_str()).bind(integer(chain.length)?).bind(step.call.to_string());
    script
        .bind(step.at.millis())
        .bind(<&str>::from(step.transition))
        .bind(value::json(step.transition));
    script.bind(salt.bytes().as_slice()).bind(chain.head.bytes().as_slice());
    Ok(())
}

/// Writes the columns of the call's row that the step changes and no others. SQLite writes each
/// index of a written column too.
fn write_row(script: &mut Script, row: &LedgerRow, step: &Transition) -> Result<(), StoreError> {
    let moment = |at: Option<Timestamp>| at.map(Timestamp::millis);
    let digest = |digest: Option<Digest>| digest.map(|digest| digest.bytes().to_vec());
    let decided_by = row.decided_by.as_ref().map(UserId::as_str);
    match step {
        Transition::Proposed(_) => return propose(script, row),
        Transition::Awaiting { arguments, .. } => {
            script.statement(
                "UPDATE madang_calls SET state = 'awaiting', arguments = ?, schema = ?, shown = ?, digest = ?, \
                 expires_at = ? WHERE call = ?",
            );
            script.bind(arguments.to_string()).bind(digest(row.schema));
            script.bind(row.shown.as_ref().map(value::json)).bind(digest(row.digest));
            script.bind(moment(row.expires_at));
        }
        Transition::Approved { arguments, .. } => {
            script.statement(
                "UPDATE madang_calls SET state = 'approved', arguments = coalesce(?, arguments), asked = ?, digest = ?, \
                 decided_by = ?, approval = ?, seal = ?, approved_at = ?, expires_at = ? WHERE call = ?",
            );
            script
                .bind(arguments.as_ref().map(ToString::to_string))
                .bind(row.asked.as_ref().map(value::json));
            script.bind(digest(row.digest)).bind(decided_by);
            script.bind(row.approval.as_ref().map(value::json)).bind(row.seal.map(String::from));
            script.bind(moment(row.approved_at)).bind(moment(row.expires_at));
        }
        Transition::Running { arguments, .. } => {
            script.statement(
                "UPDATE madang_calls SET state = 'running', arguments = ?, digest = ? WHERE call = ?",
            );
            script.bind(arguments.to_string()).bind(digest(row.digest));
        }
        Transition::Ended(Ended { arguments, .. }) => {
            script.statement(
                "UPDATE madang_calls SET state = 'ended', arguments = coalesce(?, arguments), decided_by = ?, outcome = ?, \
                 effect = ?, result = ?, ended_at = ? WHERE call = ?",
            );
            script
                .bind(arguments.as_ref().map(ToString::to_string))
                .bind(decided_by)
                .bind(row.outcome.as_ref().map(value::json));
            script.bind(row.effect.map(<&str>::from));
            script.bind(row.result.map(<&str>::from)).bind(moment(row.ended_at));
        }
        Transition::Resolved { .. } => {
            script.statement(
                "UPDATE madang_calls SET effect = ?, resolved_by = ?, resolved_at = ? WHERE call = ?",
            );
            script.bind(row.effect.map(<&str>::from));
            script.bind(row.resolved_by.as_ref().map(value::json)).bind(moment(row.resolved_at));
        }
        Transition::Revoked { .. } => {
            script
                .statement("UPDATE madang_calls SET decided_by = ?, revoked_at = ? WHERE call = ?");
            script.bind(decided_by).bind(moment(row.revoked_at));
        }
    }
    script.bind(row.call.to_string());
    Ok(())
}

/// Writes the first step, which sets the call's number in the transcript.
fn propose(script: &mut Script, row: &LedgerRow) -> Result<(), StoreError> {
    for insert in [
        "INSERT INTO madang_messages (session, seq, turn, at, call) VALUES (?, ?, ?, ?, ?)",
        "INSERT INTO madang_calls (session, seq, turn, proposed_at, call, user, name, raw_arguments, model, opaque, \
         state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'proposed')",
    ] {
        script.statement(insert);
        script.bind(row.session.as_str()).bind(integer(row.seq)?).bind(row.turn.to_string());
        script.bind(row.proposed_at.millis()).bind(row.call.to_string());
    }
    script.bind(row.user.as_str()).bind(&*row.name).bind(&*row.raw_arguments);
    script.bind(row.model.as_ref().map(ModelName::as_str)).bind(row.opaque.as_deref());
    Ok(())
}

/// Converts a number to SQLite's integer.
pub(super) fn integer(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_| StoreError::refused(format!("the number {number} is too large")))
}
