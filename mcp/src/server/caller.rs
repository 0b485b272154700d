//! The user that a client calls for, and who is asked about its calls.

use std::sync::Arc;

use madang::{LanguageTag, UserId};

/// Who is asked for the approval of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AskWhere {
    /// The person in front of the client.
    #[default]
    Here,
    /// The same person on another device. The call waits for the decision.
    Elsewhere,
    /// No person. A call that needs an approval does not run.
    Nowhere,
}

/// The user that a client calls for, and how the calls are made.
#[derive(Debug, Clone)]
pub struct ToolCaller {
    pub(super) user: UserId,
    pub(super) language: Option<LanguageTag>,
    pub(super) time_zone: Option<Arc<str>>,
    pub(super) may_decide: bool,
    pub(super) page: Option<Arc<str>>,
    ask: AskWhere,
}

impl ToolCaller {
    /// Creates a caller for this user. The client asks the user's person.
    #[must_use]
    pub const fn new(user: UserId) -> Self {
        let language = None;
        let time_zone = None;
        let page = None;
        Self { user, language, time_zone, may_decide: true, page, ask: AskWhere::Here }
    }

    /// Sets the language of questions and reasons. By default it is that of the runtime, or else
    /// that of a call's arguments.
    #[must_use]
    pub fn language(mut self, tag: LanguageTag) -> Self {
        self.language = Some(tag);
        self
    }

    /// Sets the user's time zone, an IANA name. By default it is that of the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }

    /// Sets which person a call may ask.
    #[must_use]
    pub const fn ask(mut self, ask: AskWhere) -> Self {
        self.ask = ask;
        self
    }

    /// Lets no answer of this client decide. The person in front of the client is then asked on
    /// another device.
    #[must_use]
    pub const fn without_decisions(mut self) -> Self {
        self.may_decide = false;
        self
    }

    /// Sets the address of a page on which the user decides, for clients that show addresses and no
    /// forms.
    #[must_use]
    pub fn page(mut self, address: impl Into<Arc<str>>) -> Self {
        self.page = Some(address.into());
        self
    }

    /// Returns whether the two callers share their sessions. A credential that may not decide
    /// shares none with one that may, because it could answer the questions of the other.
    #[cfg(feature = "http")]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.user == other.user && self.may_decide == other.may_decide
    }

    /// Returns which person is asked.
    pub(super) const fn asks(&self) -> AskWhere {
        match self.ask {
            AskWhere::Here if !self.may_decide => AskWhere::Elsewhere,
            asked @ (AskWhere::Here | AskWhere::Elsewhere | AskWhere::Nowhere) => asked,
        }
    }
}
