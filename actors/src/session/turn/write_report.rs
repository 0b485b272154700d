//! The report about one write, which the session receives whatever becomes of the answer.

use std::sync::Arc;

use ractor::ActorRef;
use tracing::debug;

use crate::session::{
    lifecycle::slot::Begun,
    msg::{Outgoing, SessionMsg},
    turn::sign::Sign,
};
use crate::{
    failpoint::failpoint,
    port::{Store, StoreError},
};

/// Reports the end of a write to the session, once, even if the answer is lost on the way.
pub(in crate::session) struct WriteReport {
    to: ActorRef<SessionMsg>,
    outgoing: Option<Outgoing>,
    result: Result<(), StoreError>,
    sign: Sign,
    begun: Option<Begun>,
    store: Arc<dyn Store>,
}

impl WriteReport {
    /// Makes the report about this write, which is on its way to the store.
    pub(in crate::session) fn new(
        to: ActorRef<SessionMsg>,
        outgoing: Outgoing,
        begun: Begun,
        store: Arc<dyn Store>,
    ) -> Self {
        let sign = Sign::of(&outgoing);
        let result = Err(StoreError::Silent);
        Self { to, outgoing: Some(outgoing), result, sign, begun: Some(begun), store }
    }

    /// Waits for the answer, and asks the store if the answer leaves a doubt.
    pub(in crate::session) async fn wait(
        mut self,
        written: impl Future<Output = Result<(), StoreError>>,
    ) {
        self.result = written.await;
        if self.result.is_ok() && failpoint("persist.committed").await.is_err() {
            self.result = Err(StoreError::Silent);
        }
        self.look().await;
    }

    /// Asks the store what only the store knows.
    async fn look(&mut self) {
        let is_doubtful = self.result.as_ref().is_err_and(StoreError::may_have_happened);
        if is_doubtful
            && let Some(begun) = &self.begun
            && self.sign.is_seen(begun.session(), &*self.store).await
        {
            self.result = Ok(());
        }
    }
}

impl Drop for WriteReport {
    fn drop(&mut self) {
        // The slot is informed first: the next waking reads what was written.
        self.begun = None;
        let Some(written) = self.outgoing.take() else { return };
        let result = std::mem::replace(&mut self.result, Ok(()));
        if self.to.cast(SessionMsg::Stored { written, result }).is_err() {
            debug!("the session ended before its write came back");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        task::{Context, Wake, Waker},
    };

    use ractor::{Actor, ActorProcessingErr};
    use tokio::sync::oneshot;

    use super::*;
    use crate::{
        session::{SessionSlot, msg::Purpose},
        test_runtime::TestRuntime,
        testing::MemoryStore,
    };

    /// The error of a session that is gone.
    struct Gone;

    impl Actor for Gone {
        type Msg = SessionMsg;
        type State = ();
        type Arguments = ();

        async fn pre_start(
            &self,
            _: ActorRef<SessionMsg>,
            (): (),
        ) -> Result<(), ActorProcessingErr> {
            Ok(())
        }
    }

    /// Checks, when it is woken, whether the slot still waits for a write.
    struct Looks(Arc<SessionSlot>, AtomicBool);

    impl Looks {
        fn has_ended(&self) -> bool {
            pin!(self.0.writes_ended()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        }
    }

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.store(self.has_ended(), Relaxed);
        }
    }

    #[tokio::test]
    async fn the_slot_knows_of_a_write_before_the_session_is_told() {
        let runtime = TestRuntime::new([]).await;
        let slot = runtime.slot("s").await;
        let (to, ended) = Actor::spawn(None, Gone, ()).await.unwrap();
        to.stop(None);
        ended.await.unwrap();
        let (clear, told) = oneshot::channel();
        let report = WriteReport {
            to,
            outgoing: Some(Outgoing::new(Purpose::Clear(clear))),
            result: Ok(()),
            sign: Sign::Revoked,
            begun: Some(slot.begins()),
            store: Arc::new(MemoryStore::new()),
        };
        let looks = Arc::new(Looks(slot, AtomicBool::new(false)));
        let mut told = pin!(told);
        let waker = Waker::from(looks.clone());
        assert!(told.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(!looks.has_ended(), "the write is on its way");
        drop(report);
        assert!(looks.1.load(Relaxed), "a caller that hears of it may open the session at once");
    }
}
