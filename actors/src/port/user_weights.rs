//! The weights by which users share the model's time.

use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use crate::protocol::UserId;

/// The weight of each user. A user with twice the weight of another is served twice as many tokens
/// while both wait for the model. The sessions of one user weigh the same.
#[derive(Clone, Default)]
pub struct UserWeights(Option<Arc<Weight>>);

type Weight = dyn Fn(&UserId) -> u32 + Send + Sync;

impl UserWeights {
    /// The greatest weight. The least is 1. If the range were wider, the user with the least would
    /// wait for minutes.
    pub const MOST: u32 = 100;

    /// Calls a function for the weight each time a user asks for a completion. It must not block,
    /// because completions that end wait for it. If it panics, the weight is 1.
    pub fn new(weight: impl Fn(&UserId) -> u32 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(weight)))
    }

    /// Returns the weight of a user, from 1 to [`MOST`](Self::MOST). It is 1 if no function was
    /// set.
    #[must_use]
    pub fn weight(&self, user: &UserId) -> u32 {
        let Some(weight) = &self.0 else { return 1 };
        // A panic here would end what serves all users.
        let asked = panic::catch_unwind(AssertUnwindSafe(|| weight(user)));
        asked.unwrap_or(1).clamp(1, Self::MOST)
    }
}

impl fmt::Debug for UserWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserWeights")
    }
}
