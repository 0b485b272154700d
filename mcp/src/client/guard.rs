//! Bounds what waits for a server that reads nothing: each of its own requests makes an answer that has to be written.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tracing::warn;

use super::limits::MAX_UNSENT;

/// A transport that ends where too many messages wait to be written.
pub(super) struct Guard<T> {
    inner: T,
    unsent: Arc<AtomicUsize>,
    server: String,
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T, server: &str) -> Self {
        Self { inner, unsent: Arc::default(), server: server.to_owned() }
    }
}

/// Counts a message until it is written or given up.
struct Unsent(Arc<AtomicUsize>);

impl Drop for Unsent {
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
        self.unsent.fetch_add(1, Relaxed);
        let unsent = Unsent(Arc::clone(&self.unsent));
        let sending = self.inner.send(message);
        async move {
            let _unsent = unsent;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.unsent.load(Relaxed) > MAX_UNSENT {
            warn!(server = %self.server, "an MCP server asks without reading the answers, and is given up");
            return None;
        }
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
