//! A call as the writer knows it, so that its next step need not read it.

use madang_actors::{
    ledger::ChainEnd,
    port::LedgerRow,
    protocol::{CallId, SessionId},
};

use crate::store::rows::step::Step;

/// A call and the end of its session's chain, kept so that the next step need not read them.
#[derive(Debug)]
pub(super) struct CallHead {
    pub(super) session: SessionId,
    pub(super) call: CallId,
    pub(super) chain: ChainEnd,
    /// `None` if the ledger has no such call.
    pub(super) row: Option<LedgerRow>,
}

/// Returns whether the state before this step is known, because it was read or is written earlier.
pub(super) fn is_next_of(step: &Step<'_>, known: Option<&CallHead>) -> bool {
    known.is_some_and(|CallHead { session, call, row, .. }| {
        *call == step.call
            && session == step.session
            && row.as_ref().is_none_or(|row| !row.may_repeat(step.transition))
    })
}

#[cfg(test)]
mod tests {
    use madang_actors::{
        ledger::Transition,
        protocol::{Timestamp, UserId},
    };

    use super::*;

    #[test]
    fn what_is_known_of_a_call_is_known_of_that_call_only() {
        let [s, t] = ["s", "t"].map(|name| SessionId::new(name).expect("a name"));
        let [one, two] = [1, 2].map(|id| CallId::new(uuid::Uuid::from_u128(id)));
        let transition = Transition::Revoked { by: UserId::new("kim").expect("a name") };
        let known = CallHead { session: s.clone(), call: one, chain: ChainEnd::EMPTY, row: None };
        let is_next = |session, call| {
            let at = Timestamp::from_millis(1);
            is_next_of(&Step { session, call, at, transition: &transition }, Some(&known))
        };
        assert!(is_next(&s, one));
        assert!(!is_next(&s, two) && !is_next(&t, one));
    }
}
