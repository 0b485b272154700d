//! Seals what a client of a revision without a handshake brings back with its answer: which call it
//! answers, and which request it was shown. The seal is bound to the user, the tool and the
//! arguments.
//!
//! It does not expire on its own. The request does, and an answer to a call that has ended returns
//! that end.

use madang::{IdempotencyKey, UserId, approval::Digest};
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::McpServeError;

/// The call and the request that a form was about.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shown {
    /// The key under which the call began. By it the call is found again, even after its end.
    pub(super) key: String,
    pub(super) digest: Digest,
}

/// Seals what was shown.
#[derive(Debug, Clone)]
pub(super) struct Seal(RequestStateCodec);

impl Seal {
    /// Creates a seal with a key that only this process has.
    pub(super) fn random() -> Result<Self, McpServeError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|_| McpServeError::NoRandomness)?;
        Ok(Self::of_key(key))
    }

    /// Creates a seal with this key.
    pub(super) fn of_key(key: [u8; 32]) -> Self {
        Self(RequestStateCodec::try_new(key).expect("a key of 32 bytes is long enough"))
    }

    pub(super) fn close(&self, shown: &Shown, bound: &[u8]) -> Option<String> {
        let options = SealOptions::new().associated_data(bound);
        self.0.seal_json_with(shown, &options).ok()
    }

    /// Returns what was sealed. Returns `None` if it was sealed with another key, or for something
    /// else.
    pub(super) fn open(&self, sealed: &str, bound: &[u8]) -> Option<Shown> {
        self.0.open_json_with(sealed, bound).ok()
    }
}

/// Returns what a sealed state is bound to. It leaves no doubt where one part ends.
pub(super) fn bound_to(user: &UserId, tool: &str, arguments: &str) -> Vec<u8> {
    json!([user.as_str(), tool, arguments]).to_string().into_bytes()
}

/// Makes a key that no other call has.
pub(super) fn fresh_key() -> Result<IdempotencyKey, McpServeError> {
    let random = getrandom::u64().and_then(|one| Ok([one, getrandom::u64()?]));
    let [one, two] = random.map_err(|_| McpServeError::NoRandomness)?;
    IdempotencyKey::new(format!("mcp-{one:016x}{two:016x}"))
        .map_err(|_| McpServeError::NoRandomness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_opens_for_its_user_tool_and_arguments_alone() {
        let seal = Seal::of_key([1; 32]);
        let other = Seal::random().unwrap();
        let bound = |user: &str, tool: &str, arguments: &str| {
            bound_to(&UserId::new(user).unwrap(), tool, arguments)
        };
        let mine = bound("kim", "t", "{}");
        let shown = Shown { key: "k".to_owned(), digest: Digest::new([7; 32]) };
        let sealed = seal.close(&shown, &mine).unwrap();
        assert_eq!(seal.open(&sealed, &mine).unwrap().digest, shown.digest);
        assert!(Seal::of_key([1; 32]).open(&sealed, &mine).is_some(), "the key is all it needs");
        for others in [bound("lee", "t", "{}"), bound("kim", "u", "{}"), bound("kim", "t", "{ }")] {
            assert!(seal.open(&sealed, &others).is_none());
        }
        assert!(other.open(&sealed, &mine).is_none(), "another key opens nothing");
        assert!(seal.open(&sealed[..sealed.len() - 2], &mine).is_none());
    }
}
