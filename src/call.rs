//! A tool call without a model: its options, and how it begins.

use std::sync::Arc;

use madang_actors::{
    call::{CallRequest, RunningCall},
    protocol::{Asks, IdempotencyKey, LanguageTag, SessionId, UserId},
};

use crate::{Runtime, approval::Approver, error::Error};

/// A tool call that an application asks for, or a person on the command line, instead of a model.
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
    /// Makes a call of this tool. The arguments are their raw JSON text. By default no person is
    /// asked.
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

    /// Puts the call after the last entry of this session. Its tool then finds the earlier chat
    /// there, and readers of the chat find the call. By default a call has a session of its own.
    #[must_use]
    pub fn session(mut self, session: impl Into<Option<SessionId>>) -> Self {
        self.session = session.into();
        self
    }

    /// Makes the call safe to repeat. The same key of the same user names the same call, whether it
    /// runs or has ended, even after a restart. Another tool, another session or other arguments
    /// under the key are refused.
    ///
    /// If a crash cut the call off, the next start ends it, with no effect or with an unknown one.
    /// Repeating the call returns that end and never runs it again. It runs again only if the
    /// ledger has no record of it, because then nothing was done.
    #[must_use]
    pub fn key(mut self, key: impl Into<Option<IdempotencyKey>>) -> Self {
        self.key = key.into();
        self
    }

    /// Sets who is asked if the tool needs an approval. By default nobody is. A request to the user
    /// is in the user's [`Inbox`](crate::approval::Inbox) and is returned by
    /// [`RunningCall::request`](crate::RunningCall::request). [`User::decide`](crate::User::decide)
    /// decides it.
    #[must_use]
    pub const fn asks(mut self, asks: Asks) -> Self {
        self.asks = asks;
        self
    }

    /// Sets what decides about the call if its tool needs an approval. Others may decide before it.
    #[must_use]
    pub fn approver(mut self, approver: Approver) -> Self {
        self.approver = approver;
        self
    }

    /// Sets the language of reasons and questions. By default it is that of the runtime, or that of
    /// the arguments if the runtime names none.
    #[must_use]
    pub fn language(mut self, tag: impl Into<Option<LanguageTag>>) -> Self {
        self.language = tag.into();
        self
    }

    /// Sets the user's time zone by its IANA name. By default it is that of the user, or else of
    /// the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }
}

impl Runtime {
    /// Begins a call without a model, in a session of its own or in the named one. The call passes
    /// the same steps as a model's: look up, validate, confirm, run, record. It ends in exactly one
    /// outcome, even if its handler panics, and [`RunningCall::ended`](crate::RunningCall::ended)
    /// waits for it. If the [key](Call::key) already names a call, that call is returned, whether
    /// it runs or has ended.
    ///
    /// While the call runs, the named session sleeps, and its chat can be viewed. A request that
    /// would change the chat waits for at most `Limits::ask_timeout`, and is then refused as busy.
    ///
    /// If the future is dropped before it returns, nothing begins. Afterwards the call runs to its
    /// end.
    ///
    /// # Errors
    /// [`Error::OtherCall`] if the key names another call, [`Error::TimeZone`] if the time zone is
    /// unknown, and [`Error::Foreign`] if the session is another user's. [`Error::Busy`] if a turn
    /// or call of the session has not ended. [`Error::Store`] if the store cannot be read.
    /// [`Error::Closed`] after the runtime has shut down. [`Error::Overloaded`] if too many bytes
    /// wait to be stored; the call was not recorded then.
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
        let time_zone = shared.time_zones.choose(&user, time_zone);
        let request = CallRequest { user, name, arguments, locale, time_zone, asks, session, key };
        let running = shared.direct_calls.begin(request).await?;
        if is_accompanied {
            shared.tasks().spawn(approver.accompany(shared.clone(), running.clone()));
        }
        Ok(running)
    }
}
