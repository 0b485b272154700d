//! Beginning a call without a model: a new one, or the one that its key already names.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    end::CallEnding,
    keyed::{KeyedCall, KeyedCalls},
    open_call::OpenCall,
    position::CallPosition,
    running_call::RunningCall,
    shared_call::SharedCall,
};
use crate::{
    dispatcher::{
        CallEnd, Cancellation, DispatchRequest, DispatcherEvent, DispatcherMsg, end_cut_off,
    },
    mailbox::{Recipient, Reply},
    port::{LedgerFilter, LedgerRow},
    protocol::{
        Asks, Bound, CallId, IdempotencyKey, Locale, SessionId, ToolCall, UserId, WantedCall,
    },
    session::{Error, RuntimeContext, SessionRegistry, UnknownTimeZone},
};

/// The calls without a model of a runtime.
#[derive(Debug)]
pub struct DirectCalls {
    context: Arc<RuntimeContext>,
    sessions: SessionRegistry,
    keyed: KeyedCalls<SharedCall>,
}

/// A request for a call without a model.
#[derive(Debug)]
pub struct CallRequest {
    /// The user for whom it runs.
    pub user: UserId,
    /// The name of the tool.
    pub name: Arc<str>,
    /// The raw text of the arguments.
    pub arguments: Arc<str>,
    /// The language of reasons and questions.
    pub locale: Locale,
    /// The user's time zone. An unknown one refuses only a call that begins, because a key finds
    /// its call without it.
    pub time_zone: Result<Arc<str>, UnknownTimeZone>,
    /// Who is asked if its tool needs an approval.
    pub asks: Asks,
    /// The session after whose last entry the call comes. `None` for one of its own.
    pub session: Option<SessionId>,
    /// The key under which it begins once.
    pub key: Option<IdempotencyKey>,
}

impl DirectCalls {
    /// Makes the calls of this runtime, of which none runs.
    #[must_use]
    pub fn new(context: Arc<RuntimeContext>, sessions: SessionRegistry) -> Self {
        Self { context, sessions, keyed: KeyedCalls::default() }
    }

    /// Begins a call, or finds the one that its key already names, whether that runs or has ended.
    /// Its session sleeps while it runs.
    ///
    /// If the future is dropped before it returns, nothing begins. Afterwards the call runs to its
    /// end.
    ///
    /// # Errors
    /// [`Error`] says why no call began, or that the key names another call.
    pub async fn begin(&self, request: CallRequest) -> Result<RunningCall, Error> {
        let locale = request.locale;
        let call = match request.key.clone() {
            Some(key) => self.begin_once(request, &key).await?,
            None => self.begin_new(request, CallId::new(Uuid::now_v7()), None).await?,
        };
        Ok(RunningCall::new(call, self.context.calls.clone(), locale))
    }

    /// Begins the call of a key, or finds the one that was begun. Callers of one key come one at a
    /// time.
    async fn begin_once(
        &self,
        request: CallRequest,
        key: &IdempotencyKey,
    ) -> Result<Arc<SharedCall>, Error> {
        let id = CallId::of_key(&request.user, key);
        let session = session_of(request.session.as_ref(), id)?;
        let wanted = wanted(&request).bounded(&self.context.calls.limits);
        let entry = self.keyed.entry(id);
        let mut running = entry.running().await;
        let found = match running.upgrade().filter(|found| !found.has_unrecorded_end()) {
            Some(found) => Some(found),
            None => self.recorded(id, &request.user).await?,
        };
        match found {
            Some(found) if found.is(&wanted, &session) => Ok(found),
            Some(_) => Err(Error::OtherCall(id)),
            None => {
                let begun = self.begin_new(request, id, Some(entry.clone())).await?;
                *running = Arc::downgrade(&begun);
                Ok(begun)
            }
        }
    }

    /// Finds the call in the ledger. Nothing of it runs in this process, so a call without an end
    /// is ended now, and does not run again.
    async fn recorded(&self, id: CallId, user: &UserId) -> Result<Option<Arc<SharedCall>>, Error> {
        let rows = self.context.store.store().calls(&LedgerFilter::call(id)).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        if row.user != *user {
            return Err(Error::OtherCall(id));
        }
        let wanted = WantedCall::new(row.name.clone(), row.raw_arguments.clone());
        let found =
            SharedCall::new(id, row.session.clone(), wanted, CancellationToken::new(), None);
        found.ended(self.end_of(row).await);
        Ok(Some(Arc::new(found)))
    }

    async fn end_of(&self, row: LedgerRow) -> CallEnd {
        match row.record() {
            Some(record) => CallEnd { seq: row.seq, record: Box::new(record), is_recorded: true },
            None => end_cut_off(&self.context.calls, Arc::new(DispatchRequest::of(row))).await,
        }
    }

    /// Begins a call under this id.
    async fn begin_new(
        &self,
        request: CallRequest,
        id: CallId,
        entry: Option<Arc<KeyedCall<SharedCall>>>,
    ) -> Result<Arc<SharedCall>, Error> {
        let (context, calls) = (&self.context, &self.context.calls);
        let wanted = wanted(&request);
        let CallRequest { user, locale, time_zone, session, asks, .. } = request;
        let time_zone = time_zone?;
        let bytes = calls.admission.admit(Bound::QueuedBytes, &user, wanted.arguments.len());
        let bytes = bytes.map_err(Error::Overloaded)?;
        let position = match session {
            Some(named) => CallPosition::after_last(named, &user, &self.sessions, context).await?,
            None => CallPosition::of_its_own(session_of(None, id)?),
        };
        // From here on nothing is awaited: a future that is dropped has begun all of the call or
        // nothing.
        let at = calls.clock.now();
        let max_stored_bytes = calls.limits.max_stored_bytes_per_user as u64;
        let preamble = position.turn_of_its_own(&user, at, max_stored_bytes);
        let dismissal = context.closing.child_token();
        let wanted = wanted.bounded(&calls.limits);
        let shared = Arc::new(SharedCall::new(
            id,
            position.session.clone(),
            wanted.clone(),
            dismissal.clone(),
            entry,
        ));
        let late = match &position.held {
            Some((slot, _)) => slot.late(position.turn, locale, calls.clock.clone()),
            None => Recipient::discard(),
        };
        let news = shared.clone();
        let reports = shared.clone();
        let request = Arc::new(DispatchRequest {
            preamble,
            ledger_row: None,
            span: tracing::Span::current(),
            session: position.session,
            user,
            turn: position.turn,
            seq: position.seq,
            call: ToolCall {
                id,
                name: wanted.name,
                arguments: wanted.arguments,
                model: None,
                opaque: None,
            },
            locale,
            time_zone,
            asks,
            cancellation: Cancellation::of_caller(dismissal, context.closing.clone()),
            proposed_at: at,
            beyond: None,
            news: Recipient::function(move |event| {
                news.on(event);
                true
            }),
            progress: Recipient::function(move |report| reports.reports(report)),
            late,
        });
        let call = OpenCall { request: request.clone(), calls: calls.clone() };
        let ending = CallEnding { shared: shared.clone(), call };
        let held = (bytes, position.held.map(|(_, begun)| begun));
        let ends = ending.recipient(context.tasks.clone(), held);
        let lost = DispatcherEvent::Lost { call: id, seq: request.seq };
        let reply = Reply::new(ends, lost);
        let dispatch = DispatcherMsg::Dispatch { request, reply };
        let _ = context.dispatcher.send(dispatch); // if it is gone, the reply says "lost"
        Ok(shared)
    }
}

fn wanted(request: &CallRequest) -> WantedCall {
    WantedCall::new(request.name.clone(), request.arguments.clone())
}

/// Returns the session of a call: the named one, or one of its own.
fn session_of(named: Option<&SessionId>, id: CallId) -> Result<SessionId, Error> {
    match named {
        Some(session) => Ok(session.clone()),
        None => Ok(SessionId::new(format!("call-{id}"))?),
    }
}
