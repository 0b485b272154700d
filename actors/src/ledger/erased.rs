//! What is kept of a session's chain after its user was forgotten or has deleted it: the hashes, and
//! a seal that shows who ordered the erasure.
//!
//! A hash covers random bytes that were erased with the text, so it reveals nothing of the text. A
//! head that was kept elsewhere is still found among the hashes. The seal distinguishes an erasure
//! from rows that a stranger removed.

use uuid::Uuid;

use super::{ChainEnd, Seal, SealError, SealKeys};
use crate::protocol::{Digest, Timestamp, UserId};

const ERASED: &[u8] = b"madang erased 1";

/// The chain of a session whose texts were erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedChain {
    /// The name of the erased chain. The session's own name was erased.
    pub id: Uuid,
    /// The user that ordered the erasure. `None` if the session's own user deleted it, whose name is
    /// not kept.
    pub by: Option<UserId>,
    /// The time of the erasure.
    pub at: Timestamp,
    /// The number of calls that the session had.
    pub calls: u64,
    /// The number of other entries that its transcript had.
    pub messages: u64,
    /// The hashes of its links, in order.
    pub hashes: Vec<Digest>,
    /// The code that proves that it was erased by a program that has the keys.
    pub seal: Option<Seal>,
}

impl ErasedChain {
    /// Seals the chain with the newest of these keys.
    #[must_use]
    pub fn sealed(mut self, keys: &SealKeys) -> Self {
        self.seal = keys.make(ERASED, &self.parts());
        self
    }

    /// Checks the seal.
    ///
    /// # Errors
    /// [`SealError`] says why the erasure is not valid.
    pub fn check(&self, keys: &SealKeys) -> Result<(), SealError> {
        keys.fits(self.seal.as_ref(), ERASED, &self.parts())
    }

    /// Returns the last hash. Zeros if the session had no calls.
    #[must_use]
    pub fn head(&self) -> Digest {
        self.hashes.last().copied().unwrap_or(ChainEnd::EMPTY.head)
    }

    /// Counts the links up to a head that was kept elsewhere. Returns `None` if the head is not of
    /// this chain.
    #[must_use]
    pub fn vouched_for(&self, kept: &Digest) -> Option<u64> {
        let index = self.hashes.iter().position(|hash| hash == kept)?;
        Some(index as u64 + 1)
    }

    fn parts(&self) -> [Vec<u8>; 6] {
        [
            self.id.as_bytes().to_vec(),
            // No id is empty, so this is not the name of a user.
            self.by.as_ref().map_or_else(Vec::new, |by| by.as_str().into()),
            self.at.millis().to_be_bytes().to_vec(),
            self.calls.to_be_bytes().to_vec(),
            self.messages.to_be_bytes().to_vec(),
            self.hashes.iter().flat_map(|hash| *hash.bytes()).collect(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::SealKey;

    fn erased(keys: &SealKeys) -> ErasedChain {
        let hashes = vec![Digest::new([1; 32]), Digest::new([2; 32])];
        let by = UserId::new("lee").ok();
        let at = Timestamp::from_millis(5);
        ErasedChain { id: Uuid::nil(), by, at, calls: 1, messages: 2, hashes, seal: None }
            .sealed(keys)
    }

    #[test]
    fn each_part_of_an_erasure_is_sealed() {
        let keys = SealKeys::new([SealKey::new([1; 32])]);
        assert_eq!(erased(&keys).check(&keys), Ok(()));
        let changes: [fn(&mut ErasedChain); 8] = [
            |erased| erased.id = Uuid::max(),
            |erased| erased.by = UserId::new("kim").ok(),
            |erased| erased.by = None,
            |erased| erased.at = Timestamp::from_millis(6),
            |erased| erased.calls = 0,
            |erased| erased.messages = 0,
            |erased| erased.hashes.truncate(1),
            |erased| erased.hashes.swap(0, 1),
        ];
        for change in changes {
            let mut changed = erased(&keys);
            change(&mut changed);
            assert_eq!(changed.check(&keys), Err(SealError::Broken), "{changed:?}");
        }
        let unsealed = erased(&SealKeys::default());
        assert_eq!(unsealed.check(&keys), Err(SealError::Missing));
        let other = SealKeys::new([SealKey::new([2; 32])]);
        assert!(matches!(erased(&other).check(&keys), Err(SealError::UnknownKey(_))));
    }

    #[test]
    fn a_head_that_was_kept_is_found_among_the_hashes() {
        let erased = erased(&SealKeys::default());
        assert_eq!(erased.head(), Digest::new([2; 32]));
        assert_eq!(erased.vouched_for(&Digest::new([1; 32])), Some(1));
        assert_eq!(erased.vouched_for(&erased.head()), Some(2));
        assert_eq!(erased.vouched_for(&Digest::new([3; 32])), None);
    }
}
