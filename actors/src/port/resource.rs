//! The resource of a call: a key that calls of all sessions share, and how many of them may run at
//! once.

use std::sync::Arc;

/// The resource that a call works on, by a name that the application chooses: `account/7`, a path,
/// a host. Calls with the same key wait for one another, whatever their tool, session and user.
/// Calls with other keys do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub(crate) key: Arc<str>,
    pub(crate) at_once: usize,
}

impl Resource {
    /// Names a resource that one call has to itself.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self { key: key.into(), at_once: 1 }
    }

    /// Lets this many calls run at once, at least one. If calls with the same key name different
    /// numbers, the smallest counts of those that would run together.
    #[must_use]
    pub fn at_once(mut self, count: usize) -> Self {
        self.at_once = count.max(1);
        self
    }
}
