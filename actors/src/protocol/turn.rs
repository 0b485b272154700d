//! How a turn is run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Asker, IdempotencyKey, Locale, OnDismiss};

/// How a turn is run. Stored with the turn, so that it goes on in the same way after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnOptions {
    /// Whether anybody can be asked to confirm.
    pub asker: Asker,
    /// What dismissing means.
    pub on_dismiss: OnDismiss,
    /// The language of reasons, questions and notices.
    pub locale: Locale,
    /// The user's time zone: an IANA name. `None` takes that of the runtime: its user's, or the machine's. What was taken is
    /// stored with the turn.
    pub time_zone: Option<Arc<str>>,
    /// Makes a repeated submit harmless: the same text under the same key in the same session is the same turn, whether
    /// it runs or has ended, and however it ended. The options of the first submit count.
    #[serde(skip)]
    pub key: Option<IdempotencyKey>,
}
