//! Makes the ids of forks.

use madang::{SessionId, approval::Digest};
use sha2::{Digest as _, Sha256};

/// Returns the id of the fork that these parts of a request ask for. The same request, sent again
/// or at the same time, gets the same id.
pub(crate) fn fork_id(kind: &str, parts: &[&str]) -> SessionId {
    let mut hash = Sha256::new().chain_update(kind).chain_update("\0");
    for part in parts {
        hash = hash.chain_update((part.len() as u64).to_be_bytes()).chain_update(part);
    }
    SessionId::new(Digest::new(hash.finalize().into()).to_string()).expect("a digest is short")
}
