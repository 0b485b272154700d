//! An answer that refuses something, until the other side takes it.

use std::{fmt, pin::Pin};

use tracing::debug;

/// An answer that was not taken yet. Until it is, nothing more is read from the side that it goes
/// to, so there is only one.
#[derive(Default)]
pub(crate) struct RefusalOnItsWay(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl RefusalOnItsWay {
    /// Prepares to send an answer, which happens while [`taken`](Self::taken) is awaited.
    pub(crate) fn send<E: fmt::Display>(
        &mut self,
        sent: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.0 = Some(Box::pin(async move {
            if let Err(error) = sent.await {
                debug!(%error, "a refusal was not taken");
            }
        }));
    }

    /// Waits until the answer is taken. The future may be dropped, and a new one continues.
    pub(crate) async fn taken(&mut self) {
        if let Some(refusal) = &mut self.0 {
            refusal.await;
            self.0 = None;
        }
    }
}
