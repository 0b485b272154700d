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

/// A call and the end of its session's chain, kept so that the next step need not read them.
#[derive(Debug)]
pub(crate) struct CallHead {
    pub(crate) session: SessionId,
    pub(crate) call: CallId,
    pub(crate) chain: ChainEnd,
    /// `None` if the ledger has no such call.
    pub(crate) row: Option<LedgerRow>,
}

impl Step<'_> {
    /// Returns whether the state before this step is known, because it was read or is written
    /// earlier.
    pub(crate) fn is_next_of(&self, known: Option<&CallHead>) -> bool {
        known.is_some_and(|CallHead { session, call, row, .. }| {
            *call == self.call
                && session == self.session
                && row.as_ref().is_none_or(|row| !row.may_repeat(self.transition))
        })
    }

    /// Computes the link and the row after this step. `standing` is the call on whose approval it
    /// rests.
    ///
    /// # Errors
    /// Returns a refusal if the call cannot take this step, and an error if the system has no random
    /// bytes.
    pub(crate) fn take(
        &self,
        known: &CallHead,
        standing: Option<&LedgerRow>,
        keys: Option<&SealKeys>,
    ) -> Result<Taken, StoreError> {
        let Step { session, call, at, transition } = *self;
        let CallHead { chain, row: before, .. } = known;
        let before = before.as_ref();
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

#[cfg(test)]
mod tests {
    use madang_actors::protocol::UserId;

    use super::*;

    #[test]
    fn what_is_known_of_a_call_is_known_of_that_call_only() {
        let [s, t] = ["s", "t"].map(|name| SessionId::new(name).expect("a name"));
        let [one, two] = [1, 2].map(|id| CallId::new(uuid::Uuid::from_u128(id)));
        let transition = Transition::Revoked { by: UserId::new("kim").expect("a name") };
        let known = CallHead { session: s.clone(), call: one, chain: ChainEnd::EMPTY, row: None };
        let is_next = |session, call| {
            let at = Timestamp::from_millis(1);
            Step { session, call, at, transition: &transition }.is_next_of(Some(&known))
        };
        assert!(is_next(&s, one));
        assert!(!is_next(&s, two) && !is_next(&t, one));
    }
}
