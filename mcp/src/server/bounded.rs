//! Bounds the requests that a client has open at once. A request counts until its answer was taken,
//! so a client that asks and does not read costs no more than the bound.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientNotification, ErrorCode, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

use crate::pipe::RefusalOnItsWay;

/// The most requests of one client at once. A model calls a handful of tools at a time.
pub(super) const MAX_REQUESTS: usize = 64;

/// A transport that refuses requests above the bound.
pub(super) struct Bounded<T> {
    transport: T,
    open: Open,
    /// Whether requests are counted before they come here.
    is_counted: bool,
    refusal: RefusalOnItsWay,
}

/// The requests whose answers were not taken yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Open(Arc<Mutex<HashSet<RequestId>>>);

/// A request that is counted. If this is dropped before the request has come to the server, it is
/// uncounted.
pub(super) struct Coming {
    open: Open,
    id: Option<RequestId>,
}

impl Coming {
    /// Counts the request until its answer is taken.
    pub(super) fn has_come(mut self) {
        self.id = None;
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.open.ids().remove(id);
        }
    }
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.lock().expect("no code under this lock panics")
    }

    /// Counts a request. Returns why it is refused as an error.
    pub(super) fn come(&self, id: &RequestId) -> Result<Coming, ErrorData> {
        let mut open = self.ids();
        if open.contains(id) {
            return Err(ErrorData::invalid_request("a request with this id is open", None));
        }
        if open.len() >= MAX_REQUESTS {
            let sentence =
                format!("at most {MAX_REQUESTS} requests of a client may be open at once");
            return Err(ErrorData::new(TOO_MANY, sentence, None));
        }
        open.insert(id.clone());
        Ok(Coming { open: self.clone(), id: Some(id.clone()) })
    }
}

/// The code for a client with too many open requests. It is in the range that JSON-RPC leaves to
/// servers.
const TOO_MANY: ErrorCode = ErrorCode(-32_050);

impl<T> Bounded<T> {
    pub(super) fn new(transport: T) -> Self {
        Self {
            transport,
            open: Open::default(),
            is_counted: false,
            refusal: RefusalOnItsWay::default(),
        }
    }

    /// Counts only answers, because over HTTP a request is refused before it comes here. The task
    /// of a session hands in requests and takes refusals, so it would wait for a transport that
    /// waits for it.
    #[cfg(feature = "http")]
    pub(super) fn counted(transport: T, open: Open) -> Self {
        Self { transport, open, is_counted: true, refusal: RefusalOnItsWay::default() }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Bounded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let open = self.open.clone();
        let sent = self.transport.send(message);
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                open.ids().remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // The caller may drop this future at any await. What was begun is in `self`.
            self.refusal.taken().await;
            let message = self.transport.receive().await?;
            if let JsonRpcMessage::Request(request) = &message
                && !self.is_counted
                && let Err(error) = self.open.come(&request.id).map(Coming::has_come)
            {
                let refused = JsonRpcMessage::error(error, Some(request.id.clone()));
                let sent = self.transport.send(refused);
                self.refusal.send(sent);
                continue;
            }
            if let JsonRpcMessage::Notification(told) = &message
                && let ClientNotification::CancelledNotification(cancelled) = &told.notification
                && let Some(id) = &cancelled.params.request_id
            {
                // It gets no answer.
                self.open.ids().remove(id);
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}
