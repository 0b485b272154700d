//! Beginning a call without a model: a new one, or the one that its key names already.

use std::sync::Arc;

use madang_actors::{
    dispatcher::{
        CallEnd, Cancellation, DispatchRequest, DispatcherEvent, DispatcherMsg, end_cut_off,
    },
    mailbox::{Recipient, Reply},
    port::{LedgerFilter, LedgerRow},
    protocol::{Bound, CallId, IdempotencyKey, Locale, SessionId, ToolCall, UserId, WantedCall},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    Call, RunningCall, Runtime, call_end::CallEnding, direct_call::DirectCall, error::SessionError,
    keyed_calls::KeyedCall, open_call::OpenCall,
};

type Entry = Arc<KeyedCall<DirectCall>>;

impl Runtime {
    /// Begins a call without a model, under a session of its own or in the named one. The named session sleeps
    /// meanwhile, and its chat can be looked at. What would change it waits for `Limits::ask_timeout` at most, and is refused
    /// as busy then. With a [key](Call::key) it gives the call that the key
    /// names already, whether that runs or has ended.
    ///
    /// Dropping the future begins nothing; once it has given the call, that runs to its end.
    ///
    /// # Errors
    /// [`SessionError::OtherCall`] for a key that names another call. [`SessionError::TimeZone`] for an unknown time
    /// zone; [`SessionError::Foreign`] for another user's session. [`SessionError::Busy`] for a session in which a turn
    /// or call has not ended; [`SessionError::Store`] where the store cannot be read. [`SessionError::Closed`] after
    /// the runtime has shut down; [`SessionError::Overloaded`] where too many bytes wait to be stored, and the call was
    /// not recorded.
    pub async fn begin(&self, mut call: Call) -> Result<RunningCall, SessionError> {
        if self.shared().is_closing() {
            return Err(SessionError::Closed);
        }
        let locale = self.shared().languages().choose(call.language.take(), [&*call.arguments]);
        let call = match call.key.take() {
            Some(key) => self.begin_once(call, &key, locale).await?,
            None => self.begin_new(call, CallId::new(Uuid::now_v7()), locale, None).await?,
        };
        Ok(RunningCall::new(call, self.shared().clone(), locale))
    }

    /// Begins the call of a key, or finds the one that was begun. Callers of one key come one at a time.
    async fn begin_once(
        &self,
        call: Call,
        key: &IdempotencyKey,
        locale: Locale,
    ) -> Result<Arc<DirectCall>, SessionError> {
        let id = CallId::of_key(&call.user, key);
        let session = session_of(call.session.as_ref(), id)?;
        let wanted = wanted(&call).bounded(self.shared().limits());
        let entry = self.shared().keyed_calls.entry(id);
        let mut running = entry.running().await;
        let found = match running.upgrade().filter(|found| !found.has_unrecorded_end()) {
            Some(found) => Some(found),
            None => self.recorded(id, &call.user, &session).await?,
        };
        match found {
            Some(found) if found.is(&wanted, &session) => Ok(found),
            Some(_) => Err(SessionError::OtherCall(id)),
            None => {
                let begun = self.begin_new(call, id, locale, Some(entry.clone())).await?;
                *running = Arc::downgrade(&begun);
                Ok(begun)
            }
        }
    }

    /// Finds the call in the ledger, where it is over: nothing of it runs in this process. One without an end gets it
    /// now, and does not run again.
    async fn recorded(
        &self,
        id: CallId,
        user: &UserId,
        session: &SessionId,
    ) -> Result<Option<Arc<DirectCall>>, SessionError> {
        let rows = self.ledger(&LedgerFilter::call(id)).await;
        let rows = rows.map_err(|cause| SessionError::Store { session: session.clone(), cause })?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        if row.user != *user {
            return Err(SessionError::OtherCall(id));
        }
        let wanted = WantedCall::new(row.name.clone(), row.raw_arguments.clone());
        let found =
            DirectCall::new(id, row.session.clone(), wanted, CancellationToken::new(), None);
        found.ended(self.end_of(row).await);
        Ok(Some(Arc::new(found)))
    }

    async fn end_of(&self, row: LedgerRow) -> CallEnd {
        match row.record() {
            Some(record) => CallEnd { seq: row.seq, record: Box::new(record), is_recorded: true },
            None => {
                let request = Arc::new(DispatchRequest::of(row));
                end_cut_off(&self.shared().handles.calls, request).await
            }
        }
    }

    /// Begins a call under this id.
    async fn begin_new(
        &self,
        call: Call,
        id: CallId,
        locale: Locale,
        entry: Option<Entry>,
    ) -> Result<Arc<DirectCall>, SessionError> {
        let shared = self.shared();
        let wanted = wanted(&call);
        let Call { user, time_zone, session, can_ask, .. } = call;
        let time_zone = shared.time_zones.of(&user, time_zone)?;
        let (admission, bytes) = (&shared.handles.calls.admission, wanted.arguments.len());
        let bytes = admission.admit(Bound::QueuedBytes, &user, bytes);
        let bytes = bytes.map_err(SessionError::Overloaded)?;
        let of_its_own = session_of(None, id)?;
        let position = self.position_of_call(&user, session, of_its_own).await?;
        // From here on nothing is awaited: a future that is dropped has begun all of the call or nothing.
        let at = shared.clock().now();
        let max_stored_bytes = shared.limits().max_stored_bytes_per_user as u64;
        let preamble = position.turn_of_its_own(&user, at, max_stored_bytes);
        let dismissal = shared.context.closing.child_token();
        let wanted = wanted.bounded(shared.limits());
        let begun = Arc::new(DirectCall::new(
            id,
            position.session.clone(),
            wanted.clone(),
            dismissal.clone(),
            entry,
        ));
        let late = match &position.held {
            Some((slot, _)) => slot.late(position.turn, locale, shared.clock().clone()),
            None => Recipient::discard(),
        };
        let (news, reports) = (begun.clone(), begun.clone());
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
            can_ask,
            cancellation: Cancellation::of_caller(dismissal, shared.context.closing.clone()),
            proposed_at: at,
            beyond: None,
            news: Recipient::function(move |event| {
                news.on(event);
                true
            }),
            progress: Recipient::function(move |report| reports.reports(report)),
            late,
        });
        let ending = CallEnding {
            begun: begun.clone(),
            call: OpenCall { request: request.clone(), calls: shared.handles.calls.clone() },
        };
        let held = (bytes, position.held.map(|(_, begun)| begun));
        let hears = ending.hears(shared.tasks().clone(), held);
        let lost = DispatcherEvent::Lost { call: id, seq: request.seq };
        let reply = Reply::new(hears, lost);
        let dispatch = DispatcherMsg::Dispatch { request, reply };
        let _ = shared.handles.dispatcher.send(dispatch); // if it is gone, the reply says "lost"
        Ok(begun)
    }
}

fn wanted(call: &Call) -> WantedCall {
    WantedCall::new(call.name.clone(), call.arguments.clone())
}

/// Gives the session of a call: the named one, or one of its own.
fn session_of(named: Option<&SessionId>, id: CallId) -> Result<SessionId, SessionError> {
    match named {
        Some(session) => Ok(session.clone()),
        None => Ok(SessionId::new(format!("call-{id}"))?),
    }
}
