//! A login of the page: on which token it rests, and until when.

use madang::{Timestamp, approval::Digest};

/// What a cookie says, once both seals are checked. It dies with its token: the hash names the very token, and another
/// one of the same name has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    /// The hash of the token's secret.
    pub(crate) token: Digest,
    /// The moment at which the login ends.
    pub(crate) until: Timestamp,
}
