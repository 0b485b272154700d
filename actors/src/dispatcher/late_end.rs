//! The end of a handler that the ledger does not have yet, or has as unknown. It is written until
//! the ledger has it.

use tokio::time::timeout;
use tracing::{debug, error};

use super::{CallContext, record::Record};
use crate::{
    ledger::{CallState, Ended, Transition},
    port::StoreError,
    protocol::{Effect, EffectResolution, ResolvedBy, ResolvedCall},
};

/// Writes the true end of a handler into the ledger, which may have the call without an end or with
/// effect `unknown`. Returns the effect if that was unknown. `failures` is how often the store has
/// already refused it.
///
/// If the store does not take it, this tries again with growing pauses, and a last time when the
/// runtime ends. After that, the next start finds a call that began and has no end.
pub(super) async fn keep_trying(
    record: &mut Record,
    ended: &Ended,
    mut failures: u32,
    context: &CallContext,
) -> Option<ResolvedCall> {
    let mut is_last = false;
    loop {
        if failures > 0 {
            // Its session or its caller writes the end too, and comes first: two at once would be
            // in each other's way.
            let pause = 2 * context.limits.retry_pause(failures - 1);
            is_last = timeout(pause, context.closing.cancelled()).await.is_ok();
        }
        match try_once(record, ended).await {
            Ok(resolved) => return resolved,
            Err(cause) if is_last => {
                let call = record.call();
                error!(%call, %cause, effect = ?ended.effect, "the end of a handler is lost with this process");
                return None;
            }
            Err(cause) => {
                debug!(call = %record.call(), %cause, "the end of a handler waits for the store")
            }
        }
        failures = failures.saturating_add(1);
    }
}

/// Writes the end if the ledger has none, or resolves an effect that it has as unknown. An end or a
/// resolution that it already has stays.
///
/// # Errors
/// [`StoreError`] if the ledger cannot be read or written, or does not have the call.
async fn try_once(record: &mut Record, ended: &Ended) -> Result<Option<ResolvedCall>, StoreError> {
    let row = record.row().await?;
    match row.state {
        CallState::Ended if row.effect == Some(Effect::Unknown) => {
            resolve(record, ended.effect).await
        }
        CallState::Ended => Ok(None),
        CallState::Proposed | CallState::Awaiting | CallState::Approved | CallState::Running => {
            record.write(vec![Transition::Ended(ended.clone())]).await?;
            Ok(None)
        }
    }
}

/// Records the effect of a call that the ledger has with effect `unknown`, and returns it. If the
/// effect is still unknown it stays so, and a person can resolve it.
async fn resolve(record: &mut Record, effect: Effect) -> Result<Option<ResolvedCall>, StoreError> {
    let Some(resolution) = EffectResolution::of(effect) else { return Ok(None) };
    let by = ResolvedBy::Handler;
    let resolved = Transition::Resolved { resolution, by: by.clone() };
    if let Err(cause) = record.write(vec![resolved]).await {
        match record.row().await?.resolved_by {
            Some(ResolvedBy::Handler) => {}
            Some(ResolvedBy::Person { .. }) => return Ok(None),
            None => return Err(cause),
        }
    }
    Ok(Some(record.resolved(resolution, by)))
}
