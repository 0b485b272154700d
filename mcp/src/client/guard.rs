//! Bounds what waits for a server that reads nothing: each of its own requests makes an answer that has to be written.
//! The guard also reads the answers to the newest revision's greeting. A nonsensical answer is that of a server which
//! does not know the revision. A late one must not disturb the handshake that has begun meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
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
    /// The same, where a handshake began before it was answered.
    given_up: Option<RequestId>,
    /// Whether a server told too late that it knows the newest revision.
    late: Arc<AtomicBool>,
    server: String,
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T, server: &str, late: &Arc<AtomicBool>) -> Self {
        Self {
            inner,
            unanswered: Arc::default(),
            greeting: None,
            given_up: None,
            late: Arc::clone(late),
            server: server.to_owned(),
        }
    }

    /// Notes what a request of ours asks for.
    fn note(&mut self, asked: &ClientRequest, id: &RequestId) {
        if matches!(asked, ClientRequest::DiscoverRequest(_)) {
            self.greeting = Some(id.clone());
        } else if matches!(asked, ClientRequest::InitializeRequest(_)) {
            self.given_up = self.greeting.take();
        }
    }

    /// Tells whether a message answers a greeting that was given up.
    fn is_late(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let (id, knows) = match message {
            JsonRpcMessage::Response(answer) => {
                (Some(&answer.id), matches!(answer.result, ServerResult::DiscoverResult(_)))
            }
            JsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, false),
        };
        let is_late = self.given_up.take_if(|given_up| Some(&*given_up) == id).is_some();
        if is_late && knows {
            self.late.store(true, Relaxed);
        }
        is_late
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

/// Takes a request of the server off the count, when its answer is written or given up.
struct AnsweredRequest(Arc<AtomicUsize>);

impl Drop for AnsweredRequest {
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
        if let JsonRpcMessage::Request(asked) = &message {
            self.note(&asked.request, &asked.id);
        }
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let counted = self.unanswered.load(Relaxed) > 0;
        let answered =
            (is_answer && counted).then(|| AnsweredRequest(Arc::clone(&self.unanswered)));
        let sending = self.inner.send(message);
        async move {
            let _answered = answered;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.unanswered.load(Relaxed) > MAX_UNANSWERED {
                warn!(server = %self.server, "an MCP server asks without reading the answers, and is given up");
                return None;
            }
            let received = self.inner.receive().await?;
            if let JsonRpcMessage::Request(_) = received {
                self.unanswered.fetch_add(1, Relaxed);
            }
            if !self.is_late(&received) {
                return Some(self.understood(received));
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
