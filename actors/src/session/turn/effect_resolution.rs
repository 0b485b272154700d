//! A person settles what a call did whose effect is unknown (spec, section 7.4).

use crate::session::{SessionSlot, Wiring};
use crate::{
    failpoint::{failpoint, is_planted},
    ledger::Transition,
    port::{LedgerFilter, LedgerRow, StoreError, Write},
    protocol::{
        CallId, Effect, Locale, SessionId, SettledBy, SettledCall, Settlement, Timestamp, UserId,
    },
};

/// Why a call was not settled. Nothing of it has changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SettleError {
    /// The session has no such call.
    #[error("this session has no call {0}")]
    UnknownCall(CallId),
    /// The call is another user's.
    #[error("the call is another user's to settle")]
    NotYours,
    /// A handler of the call still runs in this process: it will say itself what it did.
    #[error("the tool still runs, and will say itself what it did")]
    StillRuns,
    /// There is nothing to settle.
    #[error("whether the call took effect is not in question")]
    NotUnknown {
        /// What it did; `None`: it has not ended.
        effect: Option<Effect>,
    },
    /// The store could not be read or written.
    #[error("failed to record what the call did")]
    Store(#[source] StoreError),
}

/// Records what this user says that a call of theirs did, and tells the session behind the slot. Exactly one settlement
/// wins; whoever else tries hears [`SettleError::NotUnknown`].
///
/// # Errors
/// [`SettleError`] says why not.
pub async fn settle(
    slot: &SessionSlot,
    wiring: &Wiring,
    locale: Locale,
    call: CallId,
    settlement: Settlement,
) -> Result<(), SettleError> {
    let (session, user, around) = (slot.session(), slot.user(), &wiring.around);
    let row = row(wiring, call).await?.ok_or(SettleError::UnknownCall(call))?;
    // Behind the reading: a handler that has ended since has recorded what it did, and the store refuses.
    may_settle(&row, session, user, around.is_running(call))?;
    let (at, by) = (around.clock.now(), SettledBy::Person { user: user.clone() });
    let is_lie = is_planted("a settlement is turned round");
    let settlement = if is_lie { Settlement::DidNot } else { settlement };
    let transition = Transition::Settled { settlement, by: by.clone() };
    let (session, turn, name) = (session.clone(), row.turn, row.name);
    let step = Write::Call { session, call, at, transition };
    if let Err(cause) = write(wiring, step).await {
        // Somebody was first, or the answer was lost: only the ledger knows.
        let found = self::row(wiring, call).await?.ok_or(SettleError::UnknownCall(call))?;
        stands(&found, settlement, &by, at, cause)?;
    }
    slot.found_out(turn, at, locale, SettledCall { call, name, settlement, by });
    Ok(())
}

fn may_settle(
    row: &LedgerRow,
    session: &SessionId,
    user: &UserId,
    is_running: bool,
) -> Result<(), SettleError> {
    if row.user != *user {
        return Err(SettleError::NotYours);
    }
    if row.session != *session {
        return Err(SettleError::UnknownCall(row.call));
    }
    match row.effect {
        Some(Effect::Unknown) | None if is_running => Err(SettleError::StillRuns),
        Some(Effect::Unknown) => Ok(()),
        effect => Err(SettleError::NotUnknown { effect }),
    }
}

/// Whether the ledger has this settlement, where the store did not say so.
pub(crate) fn stands(
    found: &LedgerRow,
    settlement: Settlement,
    by: &SettledBy,
    at: Timestamp,
    cause: StoreError,
) -> Result<(), SettleError> {
    let is_mine = found.effect == Some(settlement.effect())
        && found.settled_by.as_ref() == Some(by)
        && found.settled_at == Some(at);
    match found.effect {
        Some(Effect::None | Effect::Committed) if cause.may_have_happened() && is_mine => Ok(()),
        Some(Effect::Unknown) | None => Err(SettleError::Store(cause)),
        effect => Err(SettleError::NotUnknown { effect }),
    }
}

async fn row(wiring: &Wiring, call: CallId) -> Result<Option<LedgerRow>, SettleError> {
    let filter = LedgerFilter { call: Some(call), ..LedgerFilter::default() };
    failpoint("settling.reads").await.map_err(|failed| SettleError::Store(failed.into()))?;
    let rows = wiring.store.store().calls(&filter).await;
    Ok(rows.map_err(SettleError::Store)?.pop())
}

async fn write(wiring: &Wiring, step: Write) -> Result<(), StoreError> {
    wiring.store.write(vec![step]).await?;
    failpoint("settling.written").await.map_err(|_| StoreError::Silent)
}
