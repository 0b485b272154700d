//! A login of the page: on which token it rests, and until when.

use madang::{Timestamp, approval::Digest};

/// What a cookie says, after both seals were checked. It ends with its token, because the hash is
/// of that very token, and another token with the same name has another hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    /// The hash of the token's secret.
    pub(crate) token: Digest,
    /// The moment at which the login ends.
    pub(crate) until: Timestamp,
}
