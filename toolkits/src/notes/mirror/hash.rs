//! The hash by which the mirror recognises the files that it wrote.
use sha2::{Digest, Sha256};

/// The SHA-256 of a file.
pub(super) type Hash = [u8; 32];

/// Hashes the content of a file.
pub(super) fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// Reads a stored hash; `None` if it has another length.
pub(super) fn as_hash(bytes: Option<Vec<u8>>) -> Option<Hash> {
    bytes.and_then(|bytes| bytes.try_into().ok())
}
