//! The id of an approval request, `<call>:<digest>`, for protocols whose clients send back only an
//! id.

use std::fmt;

use madang::{
    CallId,
    approval::{ApprovalRequest, Digest},
};
use uuid::Uuid;

/// Names an approval request by its call, and binds a decision to the digest of what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApprovalId {
    /// The call of the request.
    pub(crate) call: CallId,
    /// The digest of what was shown.
    pub(crate) digest: Digest,
}

impl ApprovalId {
    /// Returns the id of a request.
    pub(crate) const fn of(request: &ApprovalRequest) -> Self {
        Self { call: request.call, digest: request.digest }
    }

    /// Reads an id. Returns `None` unless it has exactly the form in which it was sent.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (call, digest) = text.split_once(':')?;
        let call = CallId::new(Uuid::try_parse(call).ok()?);
        let digest = Digest::try_from(digest.to_owned()).ok()?;
        let id = Self { call, digest };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.call, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_given_out_and_in_no_other_form() {
        let id =
            ApprovalId { call: CallId::new(Uuid::from_u128(7)), digest: Digest::new([0xab; 32]) };
        let text = id.to_string();
        assert_eq!(text.len(), 36 + 1 + 64);
        assert_eq!(ApprovalId::read(&text), Some(id));
        let call = id.call.to_string();
        for other in [
            "".to_owned(),
            call.clone(),
            format!("{call}:"),
            format!("{call}:{}", "a".repeat(63)),
            format!("{call}:{}", "+f".repeat(32)),
            text.to_uppercase(),
            format!("{{{call}}}:{}", id.digest),
            format!("{text}:"),
            format!(" {text}"),
        ] {
            assert_eq!(ApprovalId::read(&other), None, "{other:?}");
        }
    }
}
