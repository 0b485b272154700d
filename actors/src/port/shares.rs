//! How the model's time is shared out between users.

use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use crate::protocol::UserId;

/// The share of each user. Whoever has twice the share of another is served twice as many tokens while both wait for the
/// model; the sessions of one user share alike.
#[derive(Clone, Default)]
pub struct Shares(Option<Arc<Share>>);

type Share = dyn Fn(&UserId) -> u32 + Send + Sync;

impl Shares {
    /// The most that a share can be; the least is 1. Wider apart, whoever has the least would wait for minutes.
    pub const MOST: u32 = 100;

    /// Asks a function, each time a user wishes for a completion. It must not block: completions that end wait for it.
    /// Where it panics the share is 1.
    pub fn new(share: impl Fn(&UserId) -> u32 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(share)))
    }

    /// The share of a user, from 1 to [`MOST`](Self::MOST); 1 where nothing else was said.
    #[must_use]
    pub fn of(&self, user: &UserId) -> u32 {
        let Some(share) = &self.0 else { return 1 };
        // A panic here would end what serves everybody.
        let asked = panic::catch_unwind(AssertUnwindSafe(|| share(user)));
        asked.unwrap_or(1).clamp(1, Self::MOST)
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shares")
    }
}
