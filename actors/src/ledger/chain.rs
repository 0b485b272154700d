//! The chain of hashes over a session's transitions: each hash covers the one before it.
//!
//! Verified against a length and head that are kept elsewhere, the chain shows every change,
//! insertion and removal. Without such a head it cannot show that the end was cut off and the
//! session's row rewritten to match.

use sha2::{Digest as _, Sha256};

use super::{NoRandomness, Transition, seal::random};
use crate::protocol::{CallId, Digest, SessionId, Timestamp};

/// The length and last hash of a session's chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainEnd {
    /// The number of transitions.
    pub length: u64,
    /// The hash of the last transition. Zeros if there is none.
    pub head: Digest,
}

impl ChainEnd {
    /// The end of an empty chain.
    pub const EMPTY: Self = Self { length: 0, head: Digest::new([0; 32]) };
}

/// Random bytes that go into the hash of a link's step and are erased with its text. Without them
/// the hash reveals nothing of the text, however few texts are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; 16]);

impl Salt {
    /// Draws fresh bytes.
    ///
    /// # Errors
    /// [`NoRandomness`] if the system has none.
    pub fn random() -> Result<Self, NoRandomness> {
        random().map(Self)
    }

    /// Wraps bytes that were drawn before.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// One transition with its hash, as the ledger's table has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The call that takes the step.
    pub call: CallId,
    /// The time at which the step was written.
    pub at: Timestamp,
    /// The step of the call.
    pub transition: Transition,
    /// The random bytes that the hash of the step covers.
    pub salt: Salt,
    /// The hash that was written with the step.
    pub hash: Digest,
}

/// Comes before what a step's hash covers, so that no hash of a link is one of a step.
const STEP: &[u8] = b"madang step 1";

/// Computes the hash of a single step, over its JSON as it is stored: the order of its fields is
/// part of it. A reader who has a session's
/// head and the hashes of its steps can check one step that is shown with its salt. The other steps
/// stay hidden.
#[must_use]
pub fn step_hash(
    salt: &Salt,
    session: &SessionId,
    call: CallId,
    at: Timestamp,
    transition: &Transition,
) -> Digest {
    let mut hash = Sha256::new();
    hash.update(STEP);
    hash.update(salt.bytes());
    hash.update((session.as_str().len() as u64).to_be_bytes());
    hash.update(session.as_str().as_bytes());
    hash.update(call.uuid().as_bytes());
    hash.update(at.millis().to_be_bytes());
    let json = serde_json::to_vec(transition).expect("transitions are plain data with string keys");
    hash.update(json);
    Digest::new(hash.finalize().into())
}

/// Computes the hash of the link that follows `head`, from the hash of its step.
#[must_use]
pub fn next_hash(head: &Digest, step: &Digest) -> Digest {
    let mut hash = Sha256::new();
    hash.update(head.bytes());
    hash.update(step.bytes());
    Digest::new(hash.finalize().into())
}

impl Link {
    /// Computes the hash of its step, which reveals nothing of the step without the salt.
    #[must_use]
    pub fn step_hash(&self, session: &SessionId) -> Digest {
        step_hash(&self.salt, session, self.call, self.at, &self.transition)
    }
}

/// Checks the links of a session from the first to its end.
///
/// # Errors
/// [`ChainError`] names the first link that does not fit.
pub fn verify<'a>(
    session: &SessionId,
    links: impl IntoIterator<Item = &'a Link>,
    end: &ChainEnd,
) -> Result<(), ChainError> {
    let mut found = ChainEnd::EMPTY;
    for link in links {
        found.length += 1;
        found.head = next_hash(&found.head, &link.step_hash(session));
        if found.head != link.hash {
            return Err(ChainError::Changed { position: found.length });
        }
    }
    if found == *end {
        Ok(())
    } else {
        Err(ChainError::OtherEnd { found: found.length, expected: end.length })
    }
}

/// A position at which a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The transition at this position, or one before it, is not what was written.
    #[error("the ledger was changed at or before transition {position}")]
    Changed {
        /// The position, counted from 1.
        position: u64,
    },
    /// No link is changed, but the chain does not end where it should.
    #[error("the ledger has {found} transitions where {expected} were expected, or another end")]
    OtherEnd {
        /// The number of transitions in the ledger.
        found: u64,
        /// The number of transitions that the session's row states.
        expected: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::UserId;
    use uuid::Uuid;

    fn chain(session: &SessionId, count: u8) -> (Vec<Link>, ChainEnd) {
        let mut end = ChainEnd::EMPTY;
        let links = (0..count)
            .map(|n| {
                let transition = Transition::Approved {
                    digest: Digest::new([n; 32]),
                    by: UserId::new("kim").unwrap(),
                    approval: crate::protocol::Approval::Once,
                    arguments: None,
                    expires_at: Timestamp::from_millis(0),
                    seal: None,
                };
                let (call, at) =
                    (CallId::new(Uuid::from_u128(n.into())), Timestamp::from_millis(n.into()));
                let salt = Salt::new([n; 16]);
                let step = step_hash(&salt, session, call, at, &transition);
                let hash = next_hash(&end.head, &step);
                end = ChainEnd { length: end.length + 1, head: hash };
                Link { call, at, transition, salt, hash }
            })
            .collect();
        (links, end)
    }

    #[test]
    fn every_change_insertion_and_removal_is_found() {
        let session = SessionId::new("s").unwrap();
        let (links, end) = chain(&session, 4);
        assert_eq!(verify(&session, &links, &end), Ok(()));

        let mut changed = links.clone();
        changed[1].at = Timestamp::from_millis(99);
        assert_eq!(verify(&session, &changed, &end), Err(ChainError::Changed { position: 2 }));

        let mut of_another_call = links.clone();
        of_another_call[1].call = links[2].call;
        let found = verify(&session, &of_another_call, &end);
        assert_eq!(found, Err(ChainError::Changed { position: 2 }));

        let mut another_step = links.clone();
        another_step[1].transition = links[2].transition.clone();
        let found = verify(&session, &another_step, &end);
        assert_eq!(found, Err(ChainError::Changed { position: 2 }));

        let mut other_salt = links.clone();
        other_salt[1].salt = links[2].salt;
        let found = verify(&session, &other_salt, &end);
        assert_eq!(found, Err(ChainError::Changed { position: 2 }));

        let mut removed = links.clone();
        removed.remove(1);
        assert_eq!(verify(&session, &removed, &end), Err(ChainError::Changed { position: 2 }));

        let cut = &links[..3];
        assert_eq!(
            verify(&session, cut, &end),
            Err(ChainError::OtherEnd { found: 3, expected: 4 })
        );

        let mut swapped = links.clone();
        swapped.swap(2, 3);
        assert_eq!(verify(&session, &swapped, &end), Err(ChainError::Changed { position: 3 }));
        assert!(verify(&SessionId::new("other").unwrap(), &links, &end).is_err());
    }
    /// The third party knows the head, and receives the hashes of all steps and one step with its
    /// salt.
    #[test]
    fn a_step_can_be_shown_to_a_third_party_without_those_beside_it() {
        let session = SessionId::new("s").unwrap();
        let (links, end) = chain(&session, 4);
        let steps: Vec<_> = links.iter().map(|link| link.step_hash(&session)).collect();
        let head = |steps: &[Digest]| {
            steps.iter().fold(ChainEnd::EMPTY.head, |head, step| next_hash(&head, step))
        };
        assert_eq!(head(&steps), end.head);
        let shown = links[1].clone();
        assert_eq!(shown.step_hash(&session), steps[1], "it is the second step of that chain");

        let another = Link { salt: links[2].salt, ..shown.clone() };
        assert_ne!(another.step_hash(&session), steps[1]);
        assert_ne!(shown.step_hash(&SessionId::new("other").unwrap()), steps[1]);
        let mut forged = steps.clone();
        forged[1] = another.step_hash(&session);
        assert_ne!(head(&forged), end.head);
        let moved = Link { hash: Digest::new([9; 32]), ..shown };
        assert_eq!(moved.step_hash(&session), steps[1], "no neighbour goes into it");
    }
}
