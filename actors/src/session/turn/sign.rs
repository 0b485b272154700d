//! Finds out what became of a write whose reply was lost. Only the store decides.

use crate::session::msg::{Outgoing, Purpose};
use crate::{
    port::{LedgerFilter, Store},
    protocol::{ChatMessage, SessionId, TurnId},
};

/// The sign by which a write of a session is recognised in the store. All of it was written, or
/// nothing.
#[derive(Debug, PartialEq)]
pub(in crate::session) enum Sign {
    TurnStarted(TurnId),
    TurnEnded(TurnId),
    Called {
        turn: TurnId,
        round: u32,
    },
    Dismissed(TurnId),
    /// A step that is counted, which need not be exact.
    Counted,
    Said(Box<ChatMessage>),
    Revoked,
}

impl Sign {
    /// Chooses the sign of a write.
    pub(super) fn of(write: &Outgoing) -> Self {
        match &write.purpose {
            Purpose::Begin(turn) => Self::TurnStarted(*turn),
            Purpose::Round(turn, round) => Self::Called { turn: *turn, round: *round },
            Purpose::Dismiss(turn, _) => Self::Dismissed(*turn),
            Purpose::Resume(_) | Purpose::Suspend(_) => Self::Counted,
            Purpose::End(end) => Self::TurnEnded(end.0.turn),
            // The revocation shows least, because it changes nothing if there is no approval.
            Purpose::Clear(_) | Purpose::Import(_) => write
                .messages
                .first()
                .map_or(Self::Revoked, |message| Self::Said(Box::new(message.clone()))),
        }
    }

    /// Returns whether the store shows the sign.
    pub(in crate::session) async fn is_seen(&self, session: &SessionId, store: &dyn Store) -> bool {
        let Ok(Some(stored)) = store.session(session).await else { return false };
        let open = |turn| stored.open_turn.as_ref().filter(|open| open.turn == turn);
        match self {
            // Nothing else of the turn is written before this is known.
            Self::TurnStarted(turn) => open(*turn).is_some(),
            Self::TurnEnded(turn) => open(*turn).is_none(),
            // A turn that is over needs its steps no more: its end is written after them.
            Self::Called { turn, round } => open(*turn).is_none_or(|open| open.round >= *round),
            Self::Dismissed(turn) => open(*turn).is_none_or(|open| open.is_dismissed),
            Self::Counted => true,
            Self::Said(message) => stored.messages.contains(message),
            Self::Revoked => {
                let filter = LedgerFilter::standing_approvals().in_session(session);
                store.calls(&filter).await.is_ok_and(|standing| standing.is_empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;
    use crate::{
        protocol::{Bound, Content, Timestamp},
        session::{TurnEnd, msg::PendingImport},
        test_runtime::{TestRuntime, kim},
    };

    #[tokio::test]
    async fn each_write_is_recognised_by_what_only_it_leaves_in_the_store() {
        let runtime = TestRuntime::new([]).await;
        let turn = TurnId::new(Uuid::from_u128(1));
        let at = Timestamp::from_millis(1);
        let message = ChatMessage { seq: 1, turn, at, content: Content::Cleared };
        let said = || Sign::Said(Box::new(message.clone()));
        let end = || TurnEnd::without_model(turn);
        let clear = || Purpose::Clear(oneshot::channel().0);
        let admission = &runtime.handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, &kim(), 1).unwrap();
        let reply = oneshot::channel().0;
        let import = PendingImport { end: end(), at, language: None, _bytes: bytes, reply };
        let with = |purpose| Outgoing { purpose, messages: vec![message.clone()] };
        for (write, sign) in [
            (with(Purpose::Begin(turn)), Sign::TurnStarted(turn)),
            (with(Purpose::Round(turn, 2)), Sign::Called { turn, round: 2 }),
            (Outgoing::new(Purpose::Resume(turn)), Sign::Counted),
            (Outgoing::new(Purpose::Dismiss(turn, Vec::new())), Sign::Dismissed(turn)),
            (Outgoing::new(Purpose::Suspend(turn)), Sign::Counted),
            (with(Purpose::End(Box::new((end(), at)))), Sign::TurnEnded(turn)),
            (with(clear()), said()),
            (Outgoing::new(clear()), Sign::Revoked),
            (with(Purpose::Import(Box::new(import))), said()),
        ] {
            assert_eq!(Sign::of(&write), sign, "{write:?}");
        }
    }
}
