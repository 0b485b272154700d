//! Seals: a code for a person's decision, and for the owner of a session, under a key that is not
//! in the database.
//!
//! A program that can write the tables, but has no key, can neither make an approval nor change
//! one. A seal cannot show that the tables were put back to an earlier true state. For that, a head
//! of the chain is kept elsewhere.

use std::{fmt, str::FromStr, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::protocol::{SessionId, Timestamp, UserId, as_text, from_hex};

/// The keys of a database, the newest first. The newest seals, and each of them verifies what it
/// sealed. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SealKeys(Arc<[SealKey]>);

/// A secret under which decisions are sealed. Its `Debug` shows only its id.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey {
    id: KeyId,
    secret: [u8; 32],
}

/// The public name of a key, which does not reveal it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 8]);

/// A code (HMAC-SHA256) and the id of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seal {
    key: KeyId,
    code: [u8; 32],
}

/// A reason why a seal proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// No seal is stored.
    #[error("it has no seal")]
    Missing,
    /// None of the keys has this id.
    #[error("it was sealed with key {0}, which is not among the keys")]
    UnknownKey(KeyId),
    /// The seal was changed, or it seals something else.
    #[error("its seal does not fit: it is not what was decided")]
    Broken,
}

/// The system has no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the system gave no random numbers for a key: {0}")]
pub struct NoRandomness(String);

/// Draws random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|cause| NoRandomness(cause.to_string()))?;
    Ok(bytes)
}

impl SealKey {
    /// Makes a random key.
    ///
    /// # Errors
    /// [`NoRandomness`] if the system has none.
    pub fn random() -> Result<Self, NoRandomness> {
        random().map(Self::new)
    }

    /// Makes a key of a secret of 32 random bytes.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        let mut id = [0; 8];
        let code = code(&secret, b"madang key 1", &[]);
        id.copy_from_slice(&code[..8]);
        Self { id: KeyId(id), secret }
    }

    /// Returns the id of the key.
    #[must_use]
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Writes the secret as 64 hexadecimal digits, for the file or vault that keeps it.
    #[must_use]
    pub fn digits(&self) -> String {
        self.secret.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads a secret that was written by [`digits`](Self::digits).
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        from_hex(digits).map(Self::new)
    }
}

impl SealKeys {
    /// Collects keys, the newest first. Without any key nothing can be sealed and no seal fits.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = SealKey>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Makes a key for a store that does not outlive the process.
    ///
    /// # Errors
    /// [`NoRandomness`] if the system has none.
    pub fn for_this_process() -> Result<Self, NoRandomness> {
        Ok(Self::new([SealKey::random()?]))
    }

    /// Returns the ids of the keys, the newest first.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.0.iter().map(SealKey::id)
    }

    /// Returns whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Seals the owner of a session.
    #[must_use]
    pub fn owner(&self, session: &SessionId, user: &UserId, opened: Timestamp) -> Option<Seal> {
        self.make(OWNER, &owner(session, user, opened))
    }

    /// Checks the seal of a session's owner.
    ///
    /// # Errors
    /// [`SealError`] says why the owner is not valid.
    pub fn check_owner(
        &self,
        session: &SessionId,
        user: &UserId,
        opened: Timestamp,
        seal: Option<&Seal>,
    ) -> Result<(), SealError> {
        self.fits(seal, OWNER, &owner(session, user, opened))
    }

    pub(super) fn make(&self, what: &[u8], parts: &[Vec<u8>]) -> Option<Seal> {
        let key = self.0.first()?;
        Some(Seal { key: key.id, code: code(&key.secret, what, parts) })
    }

    pub(super) fn fits(
        &self,
        seal: Option<&Seal>,
        what: &[u8],
        parts: &[Vec<u8>],
    ) -> Result<(), SealError> {
        let seal = seal.ok_or(SealError::Missing)?;
        let key = self.0.iter().find(|key| key.id == seal.key);
        let key = key.ok_or(SealError::UnknownKey(seal.key))?;
        // The comparison takes the same time whatever the code is.
        let made = mac(&key.secret, what, parts).verify_slice(&seal.code);
        made.map_err(|_| SealError::Broken)
    }
}

const OWNER: &[u8] = b"madang owner 1";

fn owner(session: &SessionId, user: &UserId, opened: Timestamp) -> [Vec<u8>; 3] {
    [session.as_str().into(), user.as_str().into(), opened.millis().to_be_bytes().to_vec()]
}

fn code(secret: &[u8; 32], what: &[u8], parts: &[Vec<u8>]) -> [u8; 32] {
    mac(secret, what, parts).finalize().into_bytes().into()
}

fn mac(secret: &[u8; 32], what: &[u8], parts: &[Vec<u8>]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length of key is taken");
    for part in std::iter::once(what).chain(parts.iter().map(Vec::as_slice)) {
        // The length first, so that no two lists of parts read alike.
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.key.0)?;
        f.write_str(":")?;
        write_hex(f, &self.code)
    }
}

as_text!(Seal, &'static str);

impl FromStr for Seal {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NOT_A_SEAL: &str = "a seal has 16 and 64 hexadecimal digits";
        let (key, code) = text.split_once(':').ok_or(NOT_A_SEAL)?;
        let key = from_hex(key).ok_or(NOT_A_SEAL)?;
        let code = from_hex(code).ok_or(NOT_A_SEAL)?;
        Ok(Self { key: KeyId(key), code })
    }
}

#[cfg(feature = "schema")]
crate::protocol::schema::json_schema_of! {
    Seal: "The id of a key and a code made with it, as hexadecimal digits.", {
        "type": "string", "pattern": "^[0-9a-f]{16}:[0-9a-f]{64}$",
    };
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        ledger::Transition,
        protocol::{Approval, CallId, Digest},
    };

    fn keys(bytes: &[u8]) -> SealKeys {
        SealKeys::new(bytes.iter().map(|byte| SealKey::new([*byte; 32])))
    }

    fn session(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn approved() -> Transition {
        Transition::Approved {
            digest: Digest::new([7; 32]),
            by: user("kim"),
            approval: Approval::Once,
            arguments: None,
            expires_at: Timestamp::from_millis(9),
            seal: None,
        }
    }

    fn check(keys: &SealKeys, step: &Transition) -> Result<(), SealError> {
        let call = CallId::new(Uuid::nil());
        let at = Timestamp::from_millis(5);
        keys.check(&session("s"), call, at, step)
    }

    fn sealed(keys: &SealKeys) -> Transition {
        let call = CallId::new(Uuid::nil());
        let at = Timestamp::from_millis(5);
        keys.sealed(&session("s"), call, at, approved())
    }

    #[test]
    fn keys_are_none_only_where_there_is_none() {
        assert!(SealKeys::default().is_empty() && keys(&[]).is_empty());
        assert!(!keys(&[1]).is_empty() && !SealKeys::for_this_process().unwrap().is_empty());
    }

    #[test]
    fn a_seal_fits_what_was_sealed_and_nothing_else() {
        let keys = keys(&[1]);
        let step = sealed(&keys);
        assert_eq!(check(&keys, &step), Ok(()));
        assert_eq!(check(&keys, &approved()), Err(SealError::Missing));

        let call = CallId::new(Uuid::nil());
        let at = Timestamp::from_millis(5);
        let other_call = CallId::new(Uuid::from_u128(1));
        for elsewhere in [
            keys.check(&session("t"), call, at, &step),
            keys.check(&session("s"), other_call, at, &step),
            keys.check(&session("s"), call, Timestamp::from_millis(6), &step),
        ] {
            assert_eq!(elsewhere, Err(SealError::Broken));
        }
        let original = serde_json::to_value(&step).unwrap();
        for (field, value) in [
            ("digest", json!(Digest::new([8; 32]))),
            ("by", json!("lee")),
            ("approval", json!({ "kind": "edited" })),
            ("arguments", json!({ "to": "lee" })),
            ("expires_at", json!(10)),
        ] {
            let mut changed = original.clone();
            changed[field] = value;
            let changed: Transition = serde_json::from_value(changed).unwrap();
            assert_eq!(check(&keys, &changed), Err(SealError::Broken), "{field}");
        }
    }

    #[test]
    fn the_newest_key_seals_and_older_ones_still_vouch() {
        let old = keys(&[1]);
        let both = keys(&[2, 1]);
        let new = keys(&[2]);
        assert_eq!(check(&both, &sealed(&old)), Ok(()));
        assert_eq!(check(&new, &sealed(&both)), Ok(()));
        let id = SealKey::new([1; 32]).id();
        assert_eq!(check(&new, &sealed(&old)), Err(SealError::UnknownKey(id)));
        assert_eq!(check(&SealKeys::default(), &sealed(&old)), Err(SealError::UnknownKey(id)));
        assert_eq!(check(&old, &sealed(&SealKeys::default())), Err(SealError::Missing));
    }

    #[test]
    fn an_owner_is_sealed_with_the_session_and_its_beginning() {
        let keys = keys(&[1]);
        let name = session("s");
        let kim = user("kim");
        let at = Timestamp::from_millis(5);
        let seal = keys.owner(&name, &kim, at);
        let check = |name: &str, owner: &str, at| {
            let at = Timestamp::from_millis(at);
            keys.check_owner(&session(name), &user(owner), at, seal.as_ref())
        };
        assert_eq!(check("s", "kim", 5), Ok(()));
        for (name, owner, at) in [("t", "kim", 5), ("s", "lee", 5), ("s", "kim", 6)] {
            assert_eq!(check(name, owner, at), Err(SealError::Broken));
        }
        // Parts cannot be moved over the border between them.
        let moved = keys.owner(&session("ab"), &user("c"), at);
        let error = keys.check_owner(&session("a"), &user("bc"), at, moved.as_ref());
        assert_eq!(error, Err(SealError::Broken));
    }

    #[test]
    fn a_seal_reads_back_as_it_was_written_and_keys_are_not_shown() {
        let keys = keys(&[1]);
        let seal = keys.owner(&session("s"), &user("kim"), Timestamp::from_millis(5)).unwrap();
        assert_eq!(Seal::try_from(seal.to_string()), Ok(seal));
        for broken in ["", ":", "00", &seal.to_string()[1..], &seal.to_string().to_uppercase()] {
            assert!(Seal::try_from(broken.to_owned()).is_err(), "{broken}");
        }
        let shown = format!("{keys:?}");
        assert!(!shown.contains("010101") && !shown.contains("1, 1"), "{shown}");
        assert_ne!(SealKey::random().unwrap(), SealKey::random().unwrap());
    }
}
