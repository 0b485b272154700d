//! The resolution by a person of a call with an unknown effect.

use crate::session::{Error, RuntimeContext, SessionSlot};
use crate::{
    failpoint::failpoint,
    ledger::Transition,
    port::{LedgerFilter, LedgerRow, PartSize, StoreError, Write},
    protocol::{
        CallId, Effect, EffectResolution, Locale, ResolvedBy, ResolvedCall, SessionId, Timestamp,
        UserId,
    },
};

/// Records what this user says that one of their calls did, and informs the session of the slot.
/// Exactly one resolution wins, and later callers receive [`Error::NotUnknown`].
///
/// # Errors
/// [`Error`] says why the resolution does not count.
pub async fn resolve(
    slot: &SessionSlot,
    context: &RuntimeContext,
    call: CallId,
    resolution: EffectResolution,
) -> Result<(), Error> {
    let session = slot.session();
    let user = slot.user();
    let row = row(context, call).await?.ok_or(Error::UnknownCall(call))?;
    // After the read: if a handler has ended since and recorded its effect, the store refuses.
    may_resolve(&row, session, user, context.calls.is_running(call))?;
    let at = context.calls.clock.now();
    let by = ResolvedBy::Person { user: user.clone() };
    let transition = Transition::Resolved { resolution, by: by.clone() };
    let locale = locale_of(&row, context).await;
    let session = session.clone();
    let turn = row.turn;
    let name = row.name;
    let step = Write::Call { session, call, at, transition };
    if let Err(cause) = write(context, step).await {
        // Another resolution came first, or the answer was lost. Only the ledger shows which.
        let found = self::row(context, call).await?.ok_or(Error::UnknownCall(call))?;
        stands(&found, resolution, &by, at, cause)?;
    }
    slot.found_out(turn, at, locale, ResolvedCall { call, name, resolution, by });
    Ok(())
}

fn may_resolve(
    row: &LedgerRow,
    session: &SessionId,
    user: &UserId,
    is_running: bool,
) -> Result<(), Error> {
    if row.user != *user || row.session != *session {
        return Err(Error::UnknownCall(row.call));
    }
    match row.effect {
        Some(Effect::Unknown) | None if is_running => Err(Error::StillRuns),
        Some(Effect::Unknown) => Ok(()),
        effect => Err(Error::NotUnknown { effect }),
    }
}

/// Returns whether the ledger has this resolution, if the store did not answer.
pub(in crate::session) fn stands(
    found: &LedgerRow,
    resolution: EffectResolution,
    by: &ResolvedBy,
    at: Timestamp,
    cause: StoreError,
) -> Result<(), Error> {
    let is_mine = found.effect == Some(resolution.effect())
        && found.resolved_by.as_ref() == Some(by)
        && found.resolved_at == Some(at);
    match found.effect {
        Some(Effect::None | Effect::Committed) if cause.may_have_happened() && is_mine => Ok(()),
        Some(Effect::Unknown) | None => Err(Error::Store(cause)),
        effect => Err(Error::NotUnknown { effect }),
    }
}

/// Returns the locale of the turn of a call. If the store cannot be read for it, it is that of the
/// runtime, because the resolution matters more than its words.
async fn locale_of(row: &LedgerRow, context: &RuntimeContext) -> Locale {
    let part =
        context.store.store().transcript(&row.session, row.seq, PartSize::of_numbers(1)).await;
    let entry = part.ok().and_then(|part| part.entries.into_iter().next());
    context.calls.languages.locale(entry.and_then(|entry| entry.language))
}

async fn row(context: &RuntimeContext, call: CallId) -> Result<Option<LedgerRow>, Error> {
    let filter = LedgerFilter::call(call);
    failpoint("resolve.reads").await.map_err(|failed| Error::Store(failed.into()))?;
    let rows = context.store.store().calls(&filter).await;
    Ok(rows?.pop())
}

async fn write(context: &RuntimeContext, step: Write) -> Result<(), StoreError> {
    context.store.write(vec![step]).await?;
    failpoint("resolve.written").await.map_err(|_| StoreError::Silent)
}
