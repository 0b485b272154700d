//! The options of a turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Asker, IdempotencyKey, LanguageTag, OnDismiss};

/// The options of a turn. They are stored with it, so that it goes on in the same way after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnOptions {
    /// Whether a person can be asked to confirm.
    pub asker: Asker,
    /// The effect of a dismissal.
    pub on_dismiss: OnDismiss,
    /// The language of reasons, questions and notices.
    pub language: Option<LanguageTag>,
    /// The user's time zone: an IANA name. `None` takes that of the runtime: its user's, or the machine's. The zone
    /// that was taken is stored with the turn.
    pub time_zone: Option<Arc<str>>,
    /// The key that makes a repeated submit harmless. The same text under the same key in the same session is the same
    /// turn, whether it runs or has ended. The options of the first submit count.
    #[serde(skip)]
    pub key: Option<IdempotencyKey>,
}
