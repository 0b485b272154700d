//! Facts become rows: as many in one trip to SQLite's thread as there is nothing to read in between.

use madang_actors::{
    failpoint::is_planted,
    ledger::{ChainEnd, Transition, next_hash},
    port::{CallKey, LedgerFilter, LedgerRow, StoreError, TurnStep, Write},
    protocol::{CallId, Content, IdempotencyKey, SessionId, Timestamp, Usage, UserId},
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{
    error::of_write,
    read, row,
    script::{Changed, Guards, Script},
};

/// What is known of a call and its session's chain, so that its next step need not read it.
#[derive(Debug)]
pub(super) struct Known {
    call: CallKey,
    chain: ChainEnd,
    /// `None`: the ledger has no such call.
    row: Option<LedgerRow>,
}

impl Known {
    fn is_of_its_session(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.session == self.call.session)
    }
}

/// What ends this part and begins the next, in which this call will be written about.
pub(super) struct NextPart {
    pub(super) sql: String,
    pub(super) foreseen: Option<CallKey>,
}

/// Writes facts in their order, up to the first that is refused.
pub(super) async fn write(
    db: &mut SqliteConnection,
    writes: &[Write],
    known: &mut Option<Known>,
) -> Result<(), StoreError> {
    let mut script = Script::default();
    let Added { sent, last } = add_all(db, writes, known.take(), &mut script).await?;
    send(db, &mut script, &writes[sent..]).await?;
    *known = last;
    Ok(())
}

/// Writes facts in their order, ends the part that they belong to and begins another. Nothing was ended where one of them
/// is refused. Gives what is known of the call that the next part is about.
pub(super) async fn write_and_go_on(
    db: &mut SqliteConnection,
    writes: &[Write],
    known: Option<Known>,
    next: NextPart,
) -> Result<Option<Known>, StoreError> {
    let mut script = Script::new(Guards::Between);
    let Added { sent, .. } = add_all(db, writes, known, &mut script).await?;
    script.next_part(&next.sql);
    if let Some(CallKey { session, call }) = &next.foreseen {
        script.statements(1, STANDS).bind(session.as_str()).bind(call.to_string());
    }
    let rows = script.run_to_rows(db).await;
    let rows = rows.map_err(|error| of_write(error, || describe(&writes[sent..])))?;
    let found = match &*rows {
        [] => None,
        [found] if next.foreseen.is_some() => Some(found),
        // A borrower has changed how the connection answers: what was done is not known.
        _ => return Err(StoreError::unavailable(StrangeAnswer { rows: rows.len() })),
    };
    let Some((call, found)) = next.foreseen.zip(found) else { return Ok(None) };
    // What cannot be read, or contradicts itself, is read again when it is written about, and refused then: what was
    // written here has nothing to do with it.
    Ok(stands(call, found).ok().filter(Known::is_of_its_session))
}

/// Statements that only write gave rows.
#[derive(Debug, thiserror::Error)]
#[error("the database gave {rows} rows where it was only written to")]
struct StrangeAnswer {
    rows: usize,
}

/// What became of facts that were added to a script.
struct Added {
    /// So many of them were sent on the way.
    sent: usize,
    /// What is known once the rest is sent, too.
    last: Option<Known>,
}

/// Adds facts to the script, which is sent on the way where something must be read.
async fn add_all(
    db: &mut SqliteConnection,
    writes: &[Write],
    known: Option<Known>,
    script: &mut Script,
) -> Result<Added, StoreError> {
    let (mut sent, mut last) = (0, known);
    for (index, write) in writes.iter().enumerate() {
        let fact = Fact::of(write);
        // What the script has not written yet is not there to be read.
        if fact.must_read(last.as_ref()) || script.is_long() {
            send(db, script, &writes[sent..index]).await?;
            sent = index;
        }
        match fact {
            Fact::Plain => add(script, write)?,
            Fact::Step(step) => last = Some(take(db, &step, last, script).await?),
            Fact::Revocation { session, tool, by, at } => {
                let transition = Transition::Revoked { by: by.clone() };
                for call in granting(db, session, tool).await? {
                    let step = Step { session, call, at, transition: &transition };
                    last = Some(take(db, &step, last, script).await?);
                    // Each of these reads where the chain ends.
                    send(db, script, &writes[sent..=index]).await?;
                }
            }
        }
    }
    Ok(Added { sent, last })
}

async fn send(
    db: &mut SqliteConnection,
    script: &mut Script,
    writes: &[Write],
) -> Result<(), StoreError> {
    if script.is_empty() {
        return Ok(());
    }
    match script.run(db).await {
        Ok(Changed::All) => Ok(()),
        Ok(Changed::NotAll) => Err(StoreError::refused(describe(writes))),
        Err(error) => Err(of_write(error, || describe(writes))),
    }
}

/// A refusal for what only the tables can tell.
fn describe(writes: &[Write]) -> String {
    let what = |write: &Write| match write {
        Write::Session { session, user, .. } => format!("session {session} is {user}'s"),
        Write::TurnStarted { session, turn, .. } => {
            format!("turn {turn} begins in session {session}")
        }
        Write::TurnEnded { session, turn, .. } => {
            format!("turn {turn} is open in session {session}")
        }
        Write::Turn { session, turn, step, .. } => {
            format!("turn {turn} is open in session {session} and can be {step:?}")
        }
        Write::Message { session, message } => {
            format!("place {} of session {session} is free", message.seq)
        }
        Write::Call { session, call, transition, .. } => {
            format!("call {call} of session {session} can be {}", row::step_name(transition))
        }
        Write::Revoke { session, by, .. } => {
            format!("standing approvals of session {session} are {by}'s to revoke")
        }
    };
    format!("not all of this is so: {}", writes.iter().map(what).collect::<Vec<_>>().join(", "))
}

/// Adds a fact for which nothing must be read.
fn add(script: &mut Script, write: &Write) -> Result<(), StoreError> {
    match write {
        Write::Session { session, user, at } => {
            // Opened again by its user, it changes nothing; by another, no row matches.
            script.search(
                "INSERT INTO madang_sessions (session, user, opened_at) VALUES ($1, $2, $3) \
                 ON CONFLICT (session) DO UPDATE SET chain_length = chain_length WHERE user = excluded.user",
            );
            script.bind(session.as_str()).bind(user.as_str()).bind(at.millis());
        }
        Write::TurnStarted { session, turn, at, options, text } => {
            script.statements(
                1,
                "INSERT INTO madang_turns (session, turn, began_at, options, key, text, usage) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            );
            script.bind(session.as_str()).bind(turn.to_string()).bind(at.millis());
            script.bind(row::json(options)).bind(options.key.as_ref().map(IdempotencyKey::as_str));
            script.bind(text.bytes().as_slice()).bind(row::json(&Usage::default()));
        }
        Write::Turn { session, turn, at, step } => {
            turn_step(script, step, *at)?;
            script.bind(session.as_str()).bind(turn.to_string());
        }
        Write::TurnEnded { session, turn, at, ending, error, usage } => {
            script.search(
                "UPDATE madang_turns SET ended_at = $3, ending = $4, error = $5, usage = $6 \
                 WHERE session = $1 AND turn = $2 AND ended_at IS NULL",
            );
            script.bind(session.as_str()).bind(turn.to_string()).bind(at.millis());
            script
                .bind(row::name(ending))
                .bind(error.as_ref().map(row::json))
                .bind(row::json(usage));
        }
        Write::Message { message, .. } if matches!(message.content, Content::ToolCall(_)) => {
            return Err(StoreError::refused(
                "a tool call enters the transcript through its ledger",
            ));
        }
        Write::Message { session, message } => {
            script.statements(
                1,
                "INSERT INTO madang_messages (session, seq, turn, at, content) VALUES ($1, $2, $3, $4, $5)",
            );
            script.bind(session.as_str()).bind(place(message.seq)?).bind(message.turn.to_string());
            script.bind(message.at.millis()).bind(row::json(&message.content));
        }
        Write::Call { .. } | Write::Revoke { .. } => {
            unreachable!("a step follows from what is read")
        }
    }
    Ok(())
}

/// A step of an open turn, without the turn, which is bound last.
fn turn_step(script: &mut Script, step: &TurnStep, at: Timestamp) -> Result<(), StoreError> {
    match step {
        TurnStep::Called { round, from, usage } => {
            script.search(
                "UPDATE madang_turns SET round = $1, round_from = $2, usage = $3, resumes = 0 \
                 WHERE session = $4 AND turn = $5 AND ended_at IS NULL AND round = $1 - 1",
            );
            script.bind(*round).bind(place(*from)?).bind(row::json(usage));
        }
        TurnStep::Dismissed => {
            script.search(
                "UPDATE madang_turns SET dismissed_at = $1 WHERE session = $2 AND turn = $3 AND ended_at IS NULL",
            );
            script.bind(at.millis());
        }
        TurnStep::Resumed => {
            script.search(
                "UPDATE madang_turns SET resumes = resumes + 1 WHERE session = $1 AND turn = $2 AND ended_at IS NULL",
            );
        }
        TurnStep::Suspended => {
            script.search(
                "UPDATE madang_turns SET resumes = 0 WHERE session = $1 AND turn = $2 AND ended_at IS NULL",
            );
        }
    }
    Ok(())
}

/// What must be known before a fact can be written.
enum Fact<'a> {
    /// Nothing.
    Plain,
    /// Where the call stands.
    Step(Step<'a>),
    /// Which standing approvals there are.
    Revocation { session: &'a SessionId, tool: Option<&'a str>, by: &'a UserId, at: Timestamp },
}

struct Step<'a> {
    session: &'a SessionId,
    call: CallId,
    at: Timestamp,
    transition: &'a Transition,
}

impl<'a> Fact<'a> {
    fn of(write: &'a Write) -> Self {
        match write {
            Write::Call { session, call, at, transition } => {
                Self::Step(Step { session, call: *call, at: *at, transition })
            }
            Write::Revoke { session, tool, by, at } => {
                Self::Revocation { session, tool: tool.as_deref(), by, at: *at }
            }
            Write::Session { .. }
            | Write::TurnStarted { .. }
            | Write::Turn { .. }
            | Write::TurnEnded { .. }
            | Write::Message { .. } => Self::Plain,
        }
    }

    fn must_read(&self, known: Option<&Known>) -> bool {
        match self {
            Self::Plain => false,
            Self::Step(step) => step.transition.rests_on().is_some() || !step.is_next_of(known),
            Self::Revocation { .. } => true,
        }
    }
}

impl Step<'_> {
    /// It is known what comes before it: that was read, has just been written, or is about to be.
    fn is_next_of(&self, known: Option<&Known>) -> bool {
        known.is_some_and(|Known { call, row, .. }| {
            call.call == self.call
                && call.session == *self.session
                && row.as_ref().is_none_or(|row| !row.may_repeat(self.transition))
        })
    }
}

/// The calls about which standing approvals were given.
async fn granting(
    db: &mut SqliteConnection,
    session: &SessionId,
    tool: Option<&str>,
) -> Result<Vec<CallId>, StoreError> {
    let filter = LedgerFilter {
        session: Some(session.clone()),
        only_grants: true,
        ..LedgerFilter::default()
    };
    let mut rows = read::calls(db, &filter).await?;
    rows.retain(|row| tool.is_none_or(|tool| *row.name == *tool));
    Ok(rows.into_iter().map(|row| row.call).collect())
}

/// Adds a step of a call, unless the call took it last already.
async fn take(
    db: &mut SqliteConnection,
    step: &Step<'_>,
    known: Option<Known>,
    script: &mut Script,
) -> Result<Known, StoreError> {
    let Step { session, call, at, transition } = *step;
    let known = match known.filter(|known| step.is_next_of(Some(known))) {
        Some(known) => known,
        None => read(db, CallKey { session: session.clone(), call }).await?,
    };
    if let Some(row) = &known.row
        && row.may_repeat(transition)
        && last_step(db, session, call).await? == *transition
    {
        return Ok(known);
    }
    let Known { call: key, chain, row: before } = known;
    let grant = match transition.rests_on() {
        Some(granting) => {
            let filter = LedgerFilter { call: Some(granting), ..LedgerFilter::default() };
            read::calls(db, &filter).await?.pop()
        }
        None => None,
    };
    let row = LedgerRow::after(before.as_ref(), grant.as_ref(), session, call, at, transition)?;
    let head = if is_planted("a step is left out of the chain") {
        chain.head
    } else {
        next_hash(&chain.head, session, call, at, transition)
    };
    let chain = ChainEnd { length: chain.length + 1, head };
    link(script, step, &chain)?;
    if before.is_none() {
        propose(script, &row)?
    } else {
        follow(script, &row)
    }
    Ok(Known { call: key, chain, row: Some(row) })
}

/// The end of the session's chain and where the call stands.
const STANDS: &str = "SELECT s.chain_length, s.chain_head, c.* FROM madang_sessions AS s \
     LEFT JOIN madang_calls AS c ON c.call = $2 WHERE s.session = $1";

async fn read(db: &mut SqliteConnection, key: CallKey) -> Result<Known, StoreError> {
    let CallKey { session, call } = &key;
    let question = sqlx::query(STANDS).bind(session.as_str()).bind(call.to_string());
    let found = question.fetch_optional(db).await.map_err(StoreError::unavailable)?;
    let found =
        found.ok_or_else(|| StoreError::refused(format!("there is no session {session}")))?;
    let known = stands(key, &found)?;
    if !known.is_of_its_session() {
        let CallKey { call, .. } = known.call;
        return Err(StoreError::refused(format!("call {call} belongs to another session")));
    }
    Ok(known)
}

fn stands(call: CallKey, found: &SqliteRow) -> Result<Known, StoreError> {
    Ok(Known { chain: row::chain_end(found)?, row: row::call(found)?, call })
}

async fn last_step(
    db: &mut SqliteConnection,
    session: &SessionId,
    call: CallId,
) -> Result<Transition, StoreError> {
    let last = sqlx::query_scalar::<_, String>(
        "SELECT transition FROM madang_transitions WHERE session = $1 AND call = $2 ORDER BY position DESC LIMIT 1",
    )
    .bind(session.as_str())
    .bind(call.to_string())
    .fetch_one(db)
    .await
    .map_err(StoreError::unavailable)?;
    row::from_json(&last)
}

/// The step becomes the last link of its session's chain; the session row follows by itself.
fn link(script: &mut Script, step: &Step<'_>, chain: &ChainEnd) -> Result<(), StoreError> {
    script.statements(
        1,
        "INSERT INTO madang_transitions (session, position, call, at, step, transition, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    );
    script.bind(step.session.as_str()).bind(place(chain.length)?).bind(step.call.to_string());
    script
        .bind(step.at.millis())
        .bind(row::step_name(step.transition))
        .bind(row::json(step.transition));
    script.bind(chain.head.bytes().as_slice());
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
         revoked_at = $14, settled_by = $15, settled_at = $16 WHERE call = $1",
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
    script.bind(row.settled_by.as_ref().map(row::json)).bind(moment(row.settled_at));
}

fn place(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::refused(format!("there is no place {number}")))
}
