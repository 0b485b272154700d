//! The hash by which the mirror recognises the files that it wrote.
use sha2::{Digest, Sha256};

/// The SHA-256 of a file.
pub(super) type Hash = [u8; 32];

/// Hashes the content of a file.
pub(super) fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}
