//! Bounds what waits for a server that reads nothing, because each of its own requests makes an
//! answer that must be written. The guard also reads the answers to the newest revision's greeting.
//! A nonsensical answer comes from a server that does not know the revision. A late one must not
//! disturb the handshake that has begun meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use rmcp::{
    RoleClient,
    model::{
        ClientNotification, ClientRequest, DiscoverRequestMethod, ErrorData, JsonRpcMessage,
        RequestId, ServerResult,
    },
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tracing::warn;

use super::{
    limits::MAX_UNANSWERED,
    message::{Message, UNREADABLE},
    pending::Pending,
};

/// A transport that ends if too many requests of the server wait for their answers to be written.
pub(super) struct Guard<T> {
    inner: T,
    unanswered: Arc<AtomicUsize>,
    /// Our requests that wait, as the reader of the transport knows them.
    pending: Pending,
    /// The greeting of the newest revision. `None` once it is answered.
    greeting: Option<RequestId>,
    /// The greeting, if a handshake began before it was answered.
    given_up: Option<RequestId>,
    /// Whether a server reported too late that it knows the newest revision.
    late: Arc<AtomicBool>,
    server: String,
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T, server: &str, pending: Pending, late: &Arc<AtomicBool>) -> Self {
        Self {
            inner,
            unanswered: Arc::default(),
            pending,
            greeting: None,
            given_up: None,
            late: Arc::clone(late),
            server: server.to_owned(),
        }
    }

    /// Notes what one of the client's requests asks for.
    fn note(&mut self, asked: &ClientRequest, id: &RequestId) {
        self.pending.insert(id.clone(), asked);
        if matches!(asked, ClientRequest::DiscoverRequest(_)) {
            self.greeting = Some(id.clone());
        } else if matches!(asked, ClientRequest::InitializeRequest(_)) {
            self.given_up = self.greeting.take();
        }
    }

    /// Returns whether a message answers a greeting that was given up.
    fn is_late(&mut self, message: &Message) -> bool {
        let (id, knows) = match message {
            JsonRpcMessage::Response(answer) => {
                (Some(&answer.id), matches!(answer.result, ServerResult::DiscoverResult(_)))
            }
            JsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, false),
        };
        if let Some(id) = id {
            self.pending.forget(id);
        }
        let is_late = self.given_up.take_if(|given_up| Some(&*given_up) == id).is_some();
        if is_late && knows {
            self.late.store(true, Relaxed);
        }
        is_late
    }

    /// Turns an answer to the greeting that makes no sense into a refusal, so that its server is
    /// greeted by a handshake.
    fn understood(&mut self, message: Message) -> Message {
        let (id, is_nonsense) = match &message {
            JsonRpcMessage::Response(answer) => {
                (Some(&answer.id), !matches!(answer.result, ServerResult::DiscoverResult(_)))
            }
            JsonRpcMessage::Error(error) => (error.id.as_ref(), error.error.code == UNREADABLE),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return message,
        };
        match self.greeting.take_if(|greeting| Some(&*greeting) == id) {
            Some(greeting) if is_nonsense => {
                let unknown = ErrorData::method_not_found::<DiscoverRequestMethod>();
                JsonRpcMessage::error(unknown, Some(greeting))
            }
            Some(_) | None => message,
        }
    }
}

/// Uncounts a request of the server, after its answer was written or given up.
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
        if let JsonRpcMessage::Notification(told) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &told.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.pending.forget(id);
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

    async fn receive(&mut self) -> Option<Message> {
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use super::*;

    /// A transport on which these messages come.
    struct Coming(Vec<Value>);

    impl Transport<RoleClient> for Coming {
        type Error = Infallible;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<Message> {
            serde_json::from_value(self.0.pop()?).ok()
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_request_waits_until_it_is_answered_or_taken_back() {
        let pending = Pending::default();
        let late = Arc::default();
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        let mut guard = Guard::new(Coming(vec![answer]), "gh", pending.clone(), &late);
        let waits = |id| pending.find(&RequestId::Number(id)).is_some();
        for id in [1, 2] {
            let asked = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            guard.send(serde_json::from_value(asked).unwrap()).await.unwrap();
        }
        assert!(waits(1) && waits(2) && !waits(3));
        guard.receive().await.unwrap();
        assert!(!waits(1) && waits(2));
        let method = "notifications/cancelled";
        let taken_back =
            json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": 2 } });
        guard.send(serde_json::from_value(taken_back).unwrap()).await.unwrap();
        assert!(!waits(2));
    }
}
