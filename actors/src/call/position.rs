//! The position of a call without a model: a session of its own, or after the last entry of a
//! sleeping session.

use std::sync::Arc;

use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    port::Write,
    protocol::{SessionId, Timestamp, TurnId, UserId},
    session::{Begun, Error, RuntimeContext, SessionRegistry, SessionSlot, TurnEnd, create},
};

/// The position of a call.
#[derive(Debug)]
pub(super) struct CallPosition {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) seq: u64,
    /// Keeps the named session asleep until the call has ended.
    pub(super) held: Option<(Arc<SessionSlot>, Begun)>,
}

impl CallPosition {
    /// Takes the first position of a session that is the call's own.
    pub(super) fn of_its_own(session: SessionId) -> Self {
        Self { session, turn: TurnId::new(Uuid::now_v7()), seq: 1, held: None }
    }

    /// Takes the position after the last entry of this session, which is created if it does not
    /// exist, and put to sleep if it is idle.
    pub(super) async fn after_last(
        session: SessionId,
        user: &UserId,
        sessions: &SessionRegistry,
        context: &RuntimeContext,
    ) -> Result<Self, Error> {
        create(&session, user, context).await?;
        let limits = &context.calls.limits;
        let slot = sessions.slot(&session, user, limits);
        let slot = slot.ok_or_else(|| Error::Foreign(session.clone()))?;
        slot.put_to_sleep(Instant::now() + limits.ask_timeout).await;
        if context.closing.is_cancelled() {
            return Err(Error::Closed);
        }
        let mut begun = slot.begins_asleep().ok_or(Error::Busy)?;
        // Only now: the work that an actor of the session began has ended, and none wakes.
        let stored = context.store.store().session(&session).await?;
        let (is_open, last_seq) =
            stored.map_or((false, 0), |it| (it.open_turn.is_some(), it.row.last_seq));
        if is_open {
            return Err(Error::Busy);
        }
        begun.goes_on_beside();
        let turn = TurnId::new(Uuid::now_v7());
        Ok(Self { session, turn, seq: last_seq + 1, held: Some((slot, begun)) })
    }

    /// Makes the facts of its turn. No model follows the call, so the turn is over from the
    /// beginning: after a crash only the call is resumed.
    pub(super) fn turn_of_its_own(
        &self,
        user: &UserId,
        at: Timestamp,
        max_stored_bytes: u64,
    ) -> Vec<Write> {
        let Self { session, turn, seq, .. } = self;
        let opened = Write::Session { session: session.clone(), user: user.clone(), at };
        let end = TurnEnd::without_model(*turn);
        [opened]
            .into_iter()
            .chain(end.whole_turn(session, at, *seq, None, max_stored_bytes))
            .collect()
    }
}
