//! An answer that refuses something, on its way to whoever reads it.

use std::{fmt, pin::Pin};

use tracing::debug;

/// An answer that was not taken yet. Until then nothing more of its reader is read, so that it costs no more than one.
#[derive(Default)]
pub(crate) struct RefusalOnItsWay(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl RefusalOnItsWay {
    /// Sends an answer, once [`taken`](Self::taken) is waited for.
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

    /// Waits until the answer is taken. May be dropped and begun again.
    pub(crate) async fn taken(&mut self) {
        if let Some(refusal) = &mut self.0 {
            refusal.await;
            self.0 = None;
        }
    }
}
