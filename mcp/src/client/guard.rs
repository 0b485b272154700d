//! Bounds what waits for a server that reads nothing: each of its own requests makes an answer that has to be written. And
//! it reads a nonsensical answer to the newest revision's greeting as that of a server which does not know it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, DiscoverRequestMethod, ErrorData, JsonRpcMessage, RequestId, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tracing::warn;

use super::limits::MAX_UNANSWERED;

/// A transport that ends where too many requests of the server wait for their answers to be written.
pub(super) struct Guard<T> {
    inner: T,
    unanswered: Arc<AtomicUsize>,
    /// The greeting of the newest revision, until it is answered.
    greeting: Option<RequestId>,
    server: String,
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T, server: &str) -> Self {
        Self { inner, unanswered: Arc::default(), greeting: None, server: server.to_owned() }
    }

    /// Lets servers that answer what they do not know by some result or other be greeted by a handshake.
    fn understood(
        &mut self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> RxJsonRpcMessage<RoleClient> {
        let JsonRpcMessage::Response(answer) = message else { return message };
        let is_greeting = self.greeting.take_if(|greeting| *greeting == answer.id).is_some();
        if is_greeting && !matches!(answer.result, ServerResult::DiscoverResult(_)) {
            let unknown = ErrorData::method_not_found::<DiscoverRequestMethod>();
            return JsonRpcMessage::error(unknown, Some(answer.id));
        }
        JsonRpcMessage::Response(answer)
    }
}

/// Counts a request until its answer is written or given up.
struct Answering(Arc<AtomicUsize>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guard<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(asked) = &message
            && matches!(asked.request, ClientRequest::DiscoverRequest(_))
        {
            self.greeting = Some(asked.id.clone());
        }
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let counted = self.unanswered.load(Relaxed) > 0;
        let answering = (is_answer && counted).then(|| Answering(Arc::clone(&self.unanswered)));
        let sending = self.inner.send(message);
        async move {
            let _answering = answering;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.unanswered.load(Relaxed) > MAX_UNANSWERED {
            warn!(server = %self.server, "an MCP server asks without reading the answers, and is given up");
            return None;
        }
        let received = self.inner.receive().await;
        if let Some(JsonRpcMessage::Request(_)) = received {
            self.unanswered.fetch_add(1, Relaxed);
        }
        received.map(|message| self.understood(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
