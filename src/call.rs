//! A tool call without a model: what it asks for, and how it begins.

use std::sync::Arc;

use madang_actors::{
    call::{CallRequest, RunningCall},
    protocol::{Asks, IdempotencyKey, LanguageTag, SessionId, UserId},
};

use crate::{Runtime, approval::Approver, error::Error};

/// A tool call that an application or a person on the command line asks for, and no model.
#[derive(Debug)]
pub struct Call {
    user: UserId,
    name: Arc<str>,
    arguments: Arc<str>,
    language: Option<LanguageTag>,
    time_zone: Option<Arc<str>>,
    asks: Asks,
    approver: Approver,
    session: Option<SessionId>,
    key: Option<IdempotencyKey>,
}

impl Call {
    /// Makes a call of this tool with the raw text of its arguments. By default no person is asked.
    #[must_use]
    pub fn new(user: UserId, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self {
            user,
            name: name.into(),
            arguments: arguments.into(),
            language: None,
            time_zone: None,
            asks: Asks::Nobody,
            approver: Approver::None,
            session: None,
            key: None,
        }
    }

    /// Puts the call after the last entry of this session. Its tools find the earlier chat there, and readers of the
    /// chat find the call. A session of its own by default.
    #[must_use]
    pub fn session(mut self, session: impl Into<Option<SessionId>>) -> Self {
        self.session = session.into();
        self
    }

    /// Makes the call harmless to repeat. The same key of the same user is the same call, whether it runs or has ended,
    /// also after a restart. Another tool, session or other arguments under the key are refused.
    ///
    /// A call that a crash cut off has ended by the next start, with nothing done or with an effect that is unknown.
    /// Repeated, it gives that end and never runs again. It begins only if the ledger has nothing of it,
    /// which means that nothing was done.
    #[must_use]
    pub fn key(mut self, key: impl Into<Option<IdempotencyKey>>) -> Self {
        self.key = key.into();
        self
    }

    /// Sets who is asked if its tool needs an approval; nobody by default. The request of a user is in the user's
    /// [`Inbox`](crate::approval::Inbox) and in [`RunningCall::request`](crate::RunningCall::request), and is decided by
    /// [`User::decide`](crate::User::decide).
    #[must_use]
    pub const fn asks(mut self, asks: Asks) -> Self {
        self.asks = asks;
        self
    }

    /// Sets what decides about it if its tool needs an approval, until it has ended. Others may decide before.
    #[must_use]
    pub fn approver(mut self, approver: Approver) -> Self {
        self.approver = approver;
        self
    }

    /// Sets the language of reasons and questions. By default that of the runtime, and where it names none, that of the
    /// arguments.
    #[must_use]
    pub fn language(mut self, tag: impl Into<Option<LanguageTag>>) -> Self {
        self.language = tag.into();
        self
    }

    /// Sets the user's time zone, an IANA name. By default that of the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }
}

impl Runtime {
    /// Begins a call without a model, in a session of its own or in the named one: look up, validate, confirm, run,
    /// record. It never panics, and ends in exactly one outcome, which [`RunningCall::ended`](crate::RunningCall::ended)
    /// waits for. With a [key](Call::key) it returns the call that the key names already, whether that runs or has ended.
    ///
    /// The named session sleeps meanwhile, and its chat can be looked at. A request that would change it waits for
    /// `Limits::ask_timeout` at most, and is refused as busy then.
    ///
    /// Dropping the future begins nothing; once it has returned the call, that runs to its end.
    ///
    /// # Errors
    /// [`Error::OtherCall`] for a key that names another call. [`Error::TimeZone`] for an unknown time
    /// zone; [`Error::Foreign`] for another user's session. [`Error::Busy`] for a session in which a turn
    /// or call has not ended; [`Error::Store`] if the store cannot be read. [`Error::Closed`] after
    /// the runtime has shut down; [`Error::Overloaded`] if too many bytes wait to be stored, and the call was
    /// not recorded.
    pub async fn begin(&self, call: Call) -> Result<RunningCall, Error> {
        let shared = self.shared();
        if shared.is_closing() {
            return Err(Error::Closed);
        }
        let Call { user, name, arguments, language, time_zone, asks, approver, session, key } =
            call;
        let is_accompanied = !matches!(approver, Approver::None);
        let asks = if is_accompanied { Asks::User } else { asks };
        let locale = shared.languages().choose(language, [&*arguments]);
        let time_zone = shared.time_zones.of(&user, time_zone);
        let request = CallRequest { user, name, arguments, locale, time_zone, asks, session, key };
        let running = shared.direct_calls.begin(request).await?;
        if is_accompanied {
            shared.tasks().spawn(approver.accompany(shared.clone(), running.clone()));
        }
        Ok(running)
    }
}
