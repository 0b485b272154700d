//! Computes the digests by which a request finds its try and its chat.

use madang::{
    IdempotencyKey, UserId,
    approval::Digest,
    session::{Imported, ImportedRole},
};
use sha2::{Digest as _, Sha256};

use super::{conversation::chain, request::ChatRequest};

/// By what a request is found.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestDigests {
    /// The name of its try.
    pub(super) name: Digest,
    /// The chain that was stored when the last text of its history came. `None` if it has no
    /// history.
    pub(super) asked: Option<Digest>,
    /// The chain at which the chat ends with its own text.
    pub(super) ends: Digest,
}

impl RequestDigests {
    /// Hashes a request of this user.
    pub(super) fn of(
        user: &UserId,
        key: Option<&IdempotencyKey>,
        body: &[u8],
        request: &ChatRequest,
    ) -> Self {
        let ChatRequest { history, text, instructions, .. } = request;
        // The model's answer to the user's last text is compared, but is part of no chain.
        let asked = match history.last() {
            Some(Imported { role: ImportedRole::Model, .. }) => Some(&history[..history.len() - 1]),
            Some(_) => Some(&history[..]),
            None => None,
        };
        let chain = |said: &[Imported]| chain(user, instructions.as_deref(), said);
        let said = [&history[..], &[Imported::user(text.clone())]].concat();
        Self { name: name_of(key, body), asked: asked.map(chain), ends: chain(&said) }
    }
}

/// Returns the name under which a try is stored: the digest of its key, or of its body.
fn name_of(key: Option<&IdempotencyKey>, body: &[u8]) -> Digest {
    let (kind, text) = match key {
        Some(key) => ("key\0", key.as_str().as_bytes()),
        None => ("body\0", body),
    };
    Digest::new(Sha256::new().chain_update(kind).chain_update(text).finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_a_body_of_the_same_bytes_name_two_tries() {
        let key = IdempotencyKey::new("k").unwrap();
        assert_ne!(name_of(None, b"k"), name_of(Some(&key), b"k"));
    }
}
