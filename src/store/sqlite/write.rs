//! Writes facts as rows, with as few trips to SQLite's thread as reads allow.

use super::{
    call_head::{CallHead, is_next_of},
    calls, delete, erase,
    error::of_write,
    own::Own,
    read,
    script::Script,
    step::{integer, take},
};
use crate::store::rows::{facts::describe, step::Step, value};
use madang_actors::{
    ledger::{SealKeys, Transition},
    port::{LedgerFilter, SessionTitle, StoreError, TurnStep, Write},
    protocol::{CallId, Content, IdempotencyKey, SessionId, Timestamp, Usage, UserId},
};

/// Writes facts in order, up to the first refusal.
pub(super) async fn write(
    mut own: Own<'_>,
    writes: &[Write],
    known: &mut Option<CallHead>,
) -> Result<(), StoreError> {
    let own = &mut own;
    let script = &mut Script::default();
    let mut sent = 0;
    let mut last = known.take();
    for (index, write) in writes.iter().enumerate() {
        // A read must see the statements that the script holds back.
        if must_read(write, &writes[sent..index], last.as_ref()) || script.is_long() {
            send(own, script, &writes[sent..index]).await?;
            sent = index;
        }
        let added = match write {
            Write::Titled { .. }
            | Write::Temporary { .. }
            | Write::TurnStarted { .. }
            | Write::Turn { .. }
            | Write::TurnEnded { .. }
            | Write::Message { .. } => add(script, write, own.keys),
            Write::Session { session, user, .. } => match is_theirs(own, session, user).await {
                Ok(true) => Ok(()),
                Ok(false) => add(script, write, own.keys),
                Err(refusal) => Err(refusal),
            },
            Write::Call { session, call, at, transition } => {
                let step = Step { session, call: *call, at: *at, transition };
                take(own, &step, last.take(), script).await.map(|known| last = Some(known))
            }
            Write::Erased { session } => erase::erase(own, session).await,
            Write::Deleted { session, user, at } => {
                last = None; // the next chain of this name begins anew
                delete::delete(own, session, user, *at).await
            }
            Write::Revoke { session, tool, by, at } => {
                let transition = Transition::Revoked { by: by.clone() };
                for call in with_standing_approvals(own, session, tool.as_deref()).await? {
                    let step = Step { session, call, at: *at, transition: &transition };
                    last = Some(take(own, &step, last, script).await?);
                    // Each step reads the end of the chain.
                    send(own, script, &writes[sent..=index]).await?;
                }
                Ok(())
            }
        };
        if let Err(refusal) = added {
            // The tables may refuse an earlier fact, and the first refusal counts.
            send(own, script, &writes[sent..index]).await?;
            return Err(refusal);
        }
    }
    send(own, script, &writes[sent..]).await?;
    *known = last;
    Ok(())
}

async fn send(own: &mut Own<'_>, script: &mut Script, writes: &[Write]) -> Result<(), StoreError> {
    if script.is_empty() {
        return Ok(());
    }
    match script.run(own).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::refused(describe(writes))),
        Err(error) => Err(of_write(error, || describe(writes))),
    }
}

/// Adds a fact that needs no read.
fn add(script: &mut Script, write: &Write, keys: &SealKeys) -> Result<(), StoreError> {
    match write {
        Write::Session { session, user, at } => {
            script.statement(
                "INSERT INTO madang_sessions (session, user, opened_at, seal) VALUES (?, ?, ?, ?)",
            );
            script.bind(session.as_str()).bind(user.as_str()).bind(at.millis());
            script.bind(keys.owner(session, user, *at).map(String::from));
        }
        Write::Titled { session, user, title } => {
            script.statement("UPDATE madang_sessions SET title = ? WHERE session = ? AND user = ?");
            script.bind(title.as_ref().map(SessionTitle::to_string));
            script.bind(session.as_str()).bind(user.as_str());
        }
        Write::Temporary { session } => {
            script.statement("UPDATE madang_sessions SET is_temporary = 1 WHERE session = ?");
            script.bind(session.as_str());
        }
        Write::TurnStarted { session, turn, at, options, text, max_stored_bytes } => {
            script.check(
                "INSERT INTO madang_refused SELECT 'too much' FROM madang_stored \
                 WHERE user = (SELECT user FROM madang_sessions WHERE session = ?) AND bytes > ?",
            );
            script
                .bind(session.as_str())
                .bind(i64::try_from(*max_stored_bytes).unwrap_or(i64::MAX));
            script.statement(
                "INSERT INTO madang_turns (session, turn, began_at, options, key, text, usage) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            );
            script.bind(session.as_str()).bind(turn.to_string()).bind(at.millis());
            script
                .bind(value::json(options))
                .bind(options.key.as_ref().map(IdempotencyKey::as_str));
            script.bind(text.bytes().as_slice()).bind(value::json(&Usage::default()));
        }
        Write::Turn { session, turn, at, step } => {
            turn_step(script, step, *at)?;
            script.bind(session.as_str()).bind(turn.to_string());
        }
        Write::TurnEnded { session, turn, at, behind, ending, error, usage } => {
            script.statement(
                "UPDATE madang_turns SET ended_at = ?, ending = ?, error = ?, usage = ?, ended_behind = ? \
                 WHERE session = ? AND turn = ? AND ended_at IS NULL",
            );
            script
                .bind(at.millis())
                .bind(<&str>::from(ending))
                .bind(error.as_ref().map(value::json));
            script.bind(value::json(usage)).bind(integer(*behind)?);
            script.bind(session.as_str()).bind(turn.to_string());
        }
        Write::Message { message, .. } if matches!(message.content, Content::ToolCall(_)) => {
            return Err(StoreError::refused(
                "a tool call enters the transcript through its ledger",
            ));
        }
        Write::Message { session, message } => {
            script.statement(
                "INSERT INTO madang_messages (session, seq, turn, at, content) VALUES (?, ?, ?, ?, ?)",
            );
            script
                .bind(session.as_str())
                .bind(integer(message.seq)?)
                .bind(message.turn.to_string());
            script.bind(message.at.millis()).bind(value::json(&message.content));
        }
        Write::Call { .. }
        | Write::Revoke { .. }
        | Write::Erased { .. }
        | Write::Deleted { .. } => {
            unreachable!("a step follows from what is read")
        }
    }
    Ok(())
}

/// Adds a step of an open turn; the caller binds the turn last.
fn turn_step(script: &mut Script, step: &TurnStep, at: Timestamp) -> Result<(), StoreError> {
    match step {
        TurnStep::Called { round, from, usage } => {
            script.statement(
                "UPDATE madang_turns SET round = round + 1, round_from = ?, usage = ?, resumes = 0 \
                 WHERE round + 1 = ? AND session = ? AND turn = ? AND ended_at IS NULL",
            );
            script.bind(integer(*from)?).bind(value::json(usage)).bind(*round);
        }
        TurnStep::Dismissed => {
            script.statement(
                "UPDATE madang_turns SET dismissed_at = ? WHERE session = ? AND turn = ? AND ended_at IS NULL",
            );
            script.bind(at.millis());
        }
        TurnStep::Resumed => {
            script.statement(
                "UPDATE madang_turns SET resumes = resumes + 1 WHERE session = ? AND turn = ? AND ended_at IS NULL",
            );
        }
        TurnStep::Suspended => {
            script.statement(
                "UPDATE madang_turns SET resumes = 0 WHERE session = ? AND turn = ? AND ended_at IS NULL",
            );
        }
    }
    Ok(())
}

/// Returns whether a fact reads what the facts that the script holds back have written.
fn must_read(write: &Write, held: &[Write], known: Option<&CallHead>) -> bool {
    match write {
        Write::Titled { .. }
        | Write::Temporary { .. }
        | Write::Turn { .. }
        | Write::TurnEnded { .. }
        | Write::Message { .. } => false,
        // Too much stored ends a script before it is known whether the facts before found their
        // rows, and the first refusal counts.
        Write::TurnStarted { .. } => {
            let may_find_none = |write: &Write| {
                matches!(
                    write,
                    Write::Titled { .. }
                        | Write::Temporary { .. }
                        | Write::Turn { .. }
                        | Write::TurnEnded { .. }
                )
            };
            held.iter().any(may_find_none)
        }
        Write::Call { session, call, at, transition } => {
            let step = Step { session, call: *call, at: *at, transition };
            transition.rests_on().is_some() || !is_next_of(&step, known)
        }
        Write::Session { .. }
        | Write::Revoke { .. }
        | Write::Erased { .. }
        | Write::Deleted { .. } => true,
    }
}

/// Returns whether the session exists and is this user's, so that opening it changes nothing.
/// Refuses another user's session, or one whose owner has no fitting seal.
async fn is_theirs(
    own: &mut Own<'_>,
    session: &SessionId,
    user: &UserId,
) -> Result<bool, StoreError> {
    match read::owner_by_seal(own, session).await? {
        None => Ok(false),
        Some(Ok(owner)) if owner == *user => Ok(true),
        Some(Err(cause)) => Err(StoreError::refused(cause.to_string())),
        Some(Ok(_)) => Err(StoreError::refused(format!("session {session} is another user's"))),
    }
}

/// Lists the calls whose standing approvals are in force.
async fn with_standing_approvals(
    own: &mut Own<'_>,
    session: &SessionId,
    tool: Option<&str>,
) -> Result<Vec<CallId>, StoreError> {
    let filter = LedgerFilter::standing_approvals().in_session(session);
    let mut rows = calls::read(own, &filter).await?;
    rows.retain(|row| tool.is_none_or(|tool| *row.name == *tool));
    Ok(rows.into_iter().map(|row| row.call).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use madang_actors::{
        ledger::text_digest,
        protocol::{TurnId, TurnOptions},
    };

    #[test]
    fn what_rests_on_nothing_that_is_stored_needs_no_trip_of_its_own() {
        let session = SessionId::new("s").unwrap();
        let user = UserId::new("kim").unwrap();
        let turn = TurnId::new(uuid::Uuid::nil());
        let at = Timestamp::from_millis(1);
        let step = TurnStep::Dismissed;
        let plain = Write::Turn { session: session.clone(), turn, at, step };
        let options = TurnOptions::default();
        let text = text_digest("hello");
        let beginning = Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options,
            text,
            max_stored_bytes: 1,
        };
        let opening = Write::Session { session, user, at };
        let [may_find_none, finds_all] = [[plain.clone()], [opening.clone()]];
        assert!(!must_read(&plain, &may_find_none, None));
        assert!(must_read(&beginning, &may_find_none, None));
        assert!(!must_read(&beginning, &finds_all, None));
        assert!(must_read(&opening, &[], None));
    }
}
