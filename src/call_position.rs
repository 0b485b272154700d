//! The position of a call without a model: a session of its own, or behind the last entry of a sleeping session.

use std::sync::Arc;

use madang_actors::{
    ledger::text_digest,
    port::Write,
    protocol::{SessionId, Timestamp, TurnEnding, TurnId, TurnOptions, Usage, UserId},
    session::{Begun, SessionMsg, SessionSlot},
};
use tokio::{sync::oneshot, time::timeout};
use uuid::Uuid;

use crate::{Runtime, error::SessionError};

/// The position of a call.
#[derive(Debug)]
pub(crate) struct CallPosition {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) seq: u64,
    /// Keeps the named session asleep until the call has ended.
    pub(crate) held: Option<(Arc<SessionSlot>, Begun)>,
}

impl Runtime {
    /// Finds the position for a call of this user's: in the named session, or the first in one of its own.
    pub(crate) async fn position_of_call(
        &self,
        user: &UserId,
        named: Option<SessionId>,
        of_its_own: SessionId,
    ) -> Result<CallPosition, SessionError> {
        let turn = TurnId::new(Uuid::now_v7());
        let Some(session) = named else {
            return Ok(CallPosition { session: of_its_own, turn, seq: 1, held: None });
        };
        self.open(user, &session).await?;
        let slot = self.shared().sessions.slot(&session, user, self.shared().limits());
        let slot = slot.ok_or_else(|| SessionError::Foreign(session.clone()))?;
        let begun = self.begin_asleep(&slot).await;
        let mut begun = begun.ok_or_else(|| SessionError::Busy(session.clone()))?;
        // Only now: the work that an actor of the session began has ended, and none wakes.
        let stored = self.shared().context.store.store().session(&session).await;
        let stored =
            stored.map_err(|cause| SessionError::Store { session: session.clone(), cause })?;
        let (is_open, last_seq) =
            stored.map_or((false, 0), |it| (it.open_turn.is_some(), it.row.last_seq));
        if is_open {
            return Err(SessionError::Busy(session));
        }
        begun.goes_on_beside();
        Ok(CallPosition { session, turn, seq: last_seq + 1, held: Some((slot, begun)) })
    }

    /// Puts the session to sleep, if it is idle.
    async fn begin_asleep(&self, slot: &Arc<SessionSlot>) -> Option<Begun> {
        if let Some(actor) = slot.awake() {
            let (reply, sleeps) = oneshot::channel();
            if actor.cast(SessionMsg::Sleep { reply }).is_ok() {
                let _ = timeout(self.shared().limits().ask_timeout, sleeps).await;
            }
        }
        slot.begins_asleep()
    }
}

impl CallPosition {
    /// Makes the facts of its turn. No model follows the call, so the turn is over from the beginning: after a crash
    /// only the call is resumed.
    pub(crate) fn turn_of_its_own(
        &self,
        user: &UserId,
        at: Timestamp,
        max_stored_bytes: u64,
    ) -> Vec<Write> {
        let Self { session, turn, seq, .. } = self;
        vec![
            Write::Session { session: session.clone(), user: user.clone(), at },
            Write::TurnStarted {
                session: session.clone(),
                turn: *turn,
                at,
                options: TurnOptions::default(),
                text: text_digest(""),
                max_stored_bytes,
            },
            Write::TurnEnded {
                session: session.clone(),
                turn: *turn,
                at,
                behind: *seq,
                ending: TurnEnding::Answered,
                error: None,
                usage: Usage::default(),
            },
        ]
    }
}
