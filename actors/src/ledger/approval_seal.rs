//! The seal of an approval, over all that was decided.

use super::{SealError, SealKeys, Transition, canonical};
use crate::protocol::{CallId, SessionId, Timestamp};

const APPROVAL: &[u8] = b"madang approval 1";

impl SealKeys {
    /// Seals an approval. Any other step needs no seal and is returned unchanged.
    #[must_use]
    pub fn sealed(
        &self,
        session: &SessionId,
        call: CallId,
        at: Timestamp,
        mut step: Transition,
    ) -> Transition {
        let made = self.make(APPROVAL, &approval(session, call, at, &step));
        if let Transition::Approved { seal, .. } = &mut step {
            *seal = made;
        }
        step
    }

    /// Checks the seal of an approval. Any other step has none and passes.
    ///
    /// # Errors
    /// [`SealError`] says why the approval is not valid.
    pub fn check(
        &self,
        session: &SessionId,
        call: CallId,
        at: Timestamp,
        step: &Transition,
    ) -> Result<(), SealError> {
        let Transition::Approved { seal, .. } = step else { return Ok(()) };
        self.fits(seal.as_ref(), APPROVAL, &approval(session, call, at, step))
    }
}

/// Returns all of the step but its seal, with its session, call, moment and user, so that no seal
/// can be moved to another.
fn approval(session: &SessionId, call: CallId, at: Timestamp, step: &Transition) -> [Vec<u8>; 4] {
    let mut body = serde_json::to_value(step).expect("transitions are plain data with string keys");
    if let Some(fields) = body.as_object_mut() {
        fields.remove("seal");
    }
    [
        session.as_str().into(),
        call.uuid().as_bytes().to_vec(),
        at.millis().to_be_bytes().to_vec(),
        canonical(&body).into_bytes(),
    ]
}
