//! A login of the page: the token that it is based on, and its end.

use madang::{Timestamp, approval::Digest};

/// The content of a cookie, after both seals were checked. It ends with its token, because the hash
/// is of that very token, and another token with the same name has another hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    /// The hash of the token's secret.
    pub(crate) token: Digest,
    /// The moment at which the login ends.
    pub(crate) until: Timestamp,
}
