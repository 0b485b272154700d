//! Computes what a step of a call adds to the ledger: a link of its session's chain, and the new state
//! of its row.

use madang_actors::{
    ledger::{ChainEnd, Salt, SealKeys, Transition, next_hash, step_hash},
    port::{LedgerRow, StoreError},
    protocol::{CallId, SessionId, Timestamp},
};

/// A step to be written.
pub(crate) struct Step<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) call: CallId,
    pub(crate) at: Timestamp,
    pub(crate) transition: &'a Transition,
}

impl Step<'_> {
    /// Computes the link and the row after this step, from the end of its session's chain and the row
    /// before, which is `None` if the ledger has no such call. `standing` is the call on whose approval
    /// the step rests.
    ///
    /// # Errors
    /// Returns a refusal if the call cannot take this step, and an error if the system has no random
    /// bytes.
    pub(crate) fn take(
        &self,
        chain: &ChainEnd,
        before: Option<&LedgerRow>,
        standing: Option<&LedgerRow>,
        keys: Option<&SealKeys>,
    ) -> Result<Taken, StoreError> {
        let Step { session, call, at, transition } = *self;
        let row = LedgerRow::after(before, standing, keys, session, call, at, transition)?;
        let salt = Salt::random().map_err(StoreError::unavailable)?;
        let head = next_hash(&chain.head, &step_hash(&salt, session, call, at, transition));
        Ok(Taken { salt, chain: ChainEnd { length: chain.length + 1, head }, row })
    }
}

/// What a step adds to the ledger.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The salt of its link.
    pub(crate) salt: Salt,
    /// The end of the chain after its link.
    pub(crate) chain: ChainEnd,
    /// The state of the call after it.
    pub(crate) row: LedgerRow,
}
