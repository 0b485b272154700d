//! Keeps the sessions of clients whose revision has a handshake: whose each is, how many there are,
//! and since when one is idle.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use futures_util::{Stream, StreamExt as _, stream::iter};
use madang::UserId;
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        WorkerTransport,
        streamable_http_server::{
            SessionId, SessionManager,
            session::{
                ServerSseMessage,
                local::{
                    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
                    SessionConfig,
                },
            },
        },
    },
};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

use super::limits::{EndpointLimits, EndpointRefusal};
use crate::server::{
    bounded::{Bounded, Open},
    caller::ToolCaller,
};

/// The sessions of all clients of an endpoint.
#[derive(Debug)]
pub(super) struct Sessions {
    local: LocalSessionManager,
    opened: Arc<Opened>,
    limits: EndpointLimits,
}

/// The sessions that are open, and the permits that are taken for them.
#[derive(Debug, Default)]
struct Opened(Mutex<SessionTable>);

#[derive(Debug, Default)]
struct SessionTable {
    sessions: HashMap<SessionId, Entry>,
    permits: Vec<Weak<UserId>>,
}

#[derive(Debug)]
struct Entry {
    owner: ToolCaller,
    /// Requests and streams that are open.
    open: usize,
    /// The requests that the session has not answered.
    requests: Open,
    idle_since: Instant,
    _permit: SessionPermit,
    /// Reports the end of the session to its calls when it is dropped.
    _left: DropGuard,
}

impl Opened {
    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock().expect("no code under this lock panics")
    }
}

/// The permit of a user's session. When it is dropped, another session may take it.
pub(super) type SessionPermit = Arc<UserId>;

impl Sessions {
    pub(super) fn new(limits: EndpointLimits) -> Self {
        let mut config = SessionConfig::default();
        // The library counts only messages, so a call that takes long would end its own session.
        config.keep_alive = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self { local, opened: Arc::default(), limits }
    }

    /// Takes a permit for a session of this caller. Returns which bound is reached as an error.
    pub(super) fn permit(&self, caller: &ToolCaller) -> Result<SessionPermit, EndpointRefusal> {
        let max = self.limits.max_sessions;
        let max_of_user = self.limits.max_sessions_per_user;
        let permits = &mut self.opened.table().permits;
        permits.retain(|permit| permit.strong_count() > 0);
        let taken = permits.iter().filter_map(Weak::upgrade);
        if taken.filter(|user| **user == caller.user).count() >= max_of_user {
            return Err(EndpointRefusal::TooManyOfUser { max: max_of_user });
        }
        if permits.len() >= max {
            return Err(EndpointRefusal::TooMany { max });
        }
        let permit = SessionPermit::new(caller.user.clone());
        permits.push(Arc::downgrade(&permit));
        Ok(permit)
    }

    /// Returns whether there is such a session and it is this caller's.
    pub(super) fn is_of(&self, id: &str, caller: &ToolCaller) -> bool {
        let table = self.opened.table();
        table.sessions.get(id).is_some_and(|entry| entry.owner.is_same(caller))
    }

    pub(super) fn len(&self) -> usize {
        self.opened.table().sessions.len()
    }

    /// Ends the sessions that are idle for too long.
    pub(super) async fn close_idle(&self) {
        let now = Instant::now();
        let is_idle =
            |entry: &Entry| entry.open == 0 && now - entry.idle_since >= self.limits.session_idle;
        // All of them leave the table at the moment of the look. To end one takes a while, in which
        // a request that finds another here would be cut off.
        let idle: Vec<_> = {
            let sessions = &mut self.opened.table().sessions;
            sessions.extract_if(|_, entry| is_idle(entry)).collect()
        };
        for (id, entry) in idle {
            debug!("an idle session ends");
            // This is not done under the lock, because it wakes the calls of the session.
            drop(entry);
            let _ = self.local.close_session(&id).await;
        }
    }

    async fn close(&self, id: &SessionId) -> Result<(), LocalSessionManagerError> {
        let entry = self.opened.table().sessions.remove(id);
        // This is not done under the lock, because it wakes the calls of the session.
        drop(entry);
        self.local.close_session(id).await
    }
}

/// The sessions of one caller. Those of others do not exist for it.
#[derive(Debug)]
pub(super) struct OwnSessions {
    all: Arc<Sessions>,
    caller: ToolCaller,
    /// What a new session is made of.
    fresh: Mutex<Option<(SessionPermit, DropGuard)>>,
}

impl OwnSessions {
    pub(super) fn new(
        all: Arc<Sessions>,
        caller: ToolCaller,
        permit: Option<SessionPermit>,
        left: CancellationToken,
    ) -> Self {
        let fresh = Mutex::new(permit.map(|permit| (permit, left.drop_guard())));
        Self { all, caller, fresh }
    }

    /// Counts a request or stream of a session.
    fn open(&self, id: &SessionId) -> Result<OpenInSession, LocalSessionManagerError> {
        let mut table = self.all.opened.table();
        let entry = table.sessions.get_mut(id);
        let entry = entry.filter(|entry| entry.owner.is_same(&self.caller));
        let entry = entry.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        entry.open += 1;
        let requests = entry.requests.clone();
        Ok(OpenInSession { opened: self.all.opened.clone(), id: id.clone(), requests })
    }
}

/// An open request or stream of a session.
#[derive(Debug)]
struct OpenInSession {
    opened: Arc<Opened>,
    id: SessionId,
    requests: Open,
}

impl Drop for OpenInSession {
    fn drop(&mut self) {
        if let Some(entry) = self.opened.table().sessions.get_mut(&self.id) {
            entry.open -= 1;
            entry.idle_since = Instant::now();
        }
    }
}

/// The messages of a stream. It counts for as long as it lives.
type Messages = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

fn counted(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    open: OpenInSession,
) -> Messages {
    Box::pin(stream.map(move |message| {
        let _counts = &open;
        message
    }))
}

impl SessionManager for OwnSessions {
    type Error = LocalSessionManagerError;
    type Transport = Bounded<WorkerTransport<LocalSessionWorker>>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let fresh = self.fresh.lock().expect("no code under this lock panics").take();
        let (id, transport) = self.all.local.create_session().await?;
        let Some((permit, left)) = fresh else {
            self.all.local.close_session(&id).await?;
            return Err(LocalSessionManagerError::SessionNotFound(id));
        };
        let requests = Open::default();
        let entry = Entry {
            owner: self.caller.clone(),
            open: 0,
            requests: requests.clone(),
            idle_since: Instant::now(),
            _permit: permit,
            _left: left,
        };
        self.all.opened.table().sessions.insert(id.clone(), entry);
        Ok((id, Bounded::counted(transport, requests)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let _open = self.open(id)?;
        self.all.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.all.is_of(id, &self.caller) && self.all.local.has_session(id).await?)
    }

    /// Ends the session. The library calls this also after the session's own task ended. The owner
    /// was checked before.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.all.close(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open(id)?;
        let JsonRpcMessage::Request(request) = &message else {
            return Ok(counted(self.all.local.create_stream(id, message).await?, open));
        };
        let coming = match open.requests.come(&request.id) {
            Ok(coming) => coming,
            Err(error) => {
                let refused = JsonRpcMessage::error(error, Some(request.id.clone()));
                return Ok(counted(iter([ServerSseMessage::from_message(refused)]), open));
            }
        };
        let stream = self.all.local.create_stream(id, message).await?;
        coming.has_come();
        Ok(counted(stream, open))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        let _open = self.open(id)?;
        self.all.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open(id)?;
        Ok(counted(self.all.local.create_standalone_stream(id).await?, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open(id)?;
        Ok(counted(self.all.local.resume(id, last_event_id).await?, open))
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

    use madang::UserId;

    use super::*;

    #[tokio::test]
    async fn a_session_that_took_a_request_is_not_ended_as_idle() {
        let mut limits = EndpointLimits::default();
        limits.session_idle = Duration::ZERO;
        let all = Arc::new(Sessions::new(limits));
        let caller = ToolCaller::new(UserId::new("kim").unwrap());
        let own = || {
            let permit = all.permit(&caller).unwrap();
            OwnSessions::new(all.clone(), caller.clone(), Some(permit), CancellationToken::new())
        };
        let mut sessions = Vec::new();
        for _ in 0..2 {
            let own = own();
            let (id, transport) = own.create_session().await.unwrap();
            sessions.push((own, id, transport));
        }
        let held = all.local.sessions.read().await;
        let mut closing = pin!(all.close_idle());
        let has_begun = poll_fn(|context| Poll::Ready(closing.as_mut().poll(context))).await;
        assert!(has_begun.is_pending(), "it waits behind the lock that is held");
        let taken: Vec<_> =
            sessions.iter().filter_map(|(own, id, _)| Some((own.open(id).ok()?, id))).collect();
        drop(held);
        closing.await;
        for (_, id) in &taken {
            assert!(all.is_of(id, &caller), "a request in it was cut off");
        }
        assert_eq!(all.len(), taken.len());
    }
}
