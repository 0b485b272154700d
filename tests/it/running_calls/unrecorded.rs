//! The store does not take the end of a call without a model: its caller hears so, and the ledger
//! gets an end later.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    CallId, Error, SessionId,
    ledger::{Effect, LedgerFilter, LedgerRow},
    store::{Store, StoreError, Transaction},
};
use madang_actors::port::BoxFuture;
use madang_testing::{MemoryStore, Read, SteppedStore, Steps};
use tokio::time::{sleep, timeout};

use super::{Calls, call, ended, keyed};
use crate::support::{PATIENCE, kind};

/// The paused clock passes this once no task has anything else to do: an end is tried again
/// meanwhile.
const PAUSES: Duration = Duration::from_secs(20);

/// Fails to begin any transaction, or to read, while that is set.
#[derive(Debug, Clone, Default)]
struct Fails {
    begins: Arc<AtomicBool>,
    reads: Arc<AtomicBool>,
}

impl Fails {
    fn set(&self, fails: bool) {
        self.begins.store(fails, SeqCst);
    }

    fn set_reads(&self, fails: bool) {
        self.reads.store(fails, SeqCst);
    }
}

fn failed<'a, T: Send + 'a>() -> BoxFuture<'a, Read<T>> {
    Box::pin(async { Err(StoreError::refused("the test lets it fail")) })
}

impl Steps for Fails {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        if self.begins.load(SeqCst) { failed() } else { of.begin() }
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        _: impl FnOnce() -> String,
        read: BoxFuture<'a, Read<T>>,
    ) -> BoxFuture<'a, Read<T>> {
        if self.reads.load(SeqCst) { failed() } else { read }
    }
}

async fn row(calls: &Calls, id: CallId) -> LedgerRow {
    calls.runtime.ledger(&LedgerFilter::call(id)).await.unwrap().remove(0)
}

#[tokio::test]
async fn the_call_of_a_key_whose_end_was_not_recorded_is_what_the_ledger_says() {
    let ends = [
        ("note", Effect::None, ("ok", Effect::Committed)),
        ("mail", Effect::Unknown, ("ok", Effect::Committed)),
    ];
    for (tool, effect, said) in ends {
        let fails = Fails::default();
        let store = SteppedStore::new(MemoryStore::new(), fails.clone());
        let calls = Calls::on(store).await;
        // Nothing is written of the first, and of the second only that it began.
        fails.set(tool == "note");
        let lost = calls.begin(keyed(tool)).await;
        if tool == "mail" {
            timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
            fails.set(true);
        }
        calls.gate.open();
        let report = ended(&lost).await;
        assert_eq!((report.is_recorded, report.record.effect), (false, effect), "{tool}");
        fails.set(false);
        let again = calls.begin(keyed(tool)).await;
        let report = ended(&again).await;
        let told = (kind(&report), report.record.effect, report.is_recorded);
        assert_eq!(told, (said.0.to_owned(), said.1, true), "{tool}");
        assert_eq!(calls.runs(tool), 1, "{tool}");
        drop((lost, again));
        calls.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_end_a_store_did_not_take_ends_in_the_ledger_when_the_store_is_back() {
    let fails = Fails::default();
    let calls = Calls::on(SteppedStore::new(MemoryStore::new(), fails.clone())).await;
    let session = SessionId::new("s").unwrap();
    let lost = calls.begin(call("mail").session(session.clone())).await;
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    fails.set(true);
    calls.gate.open();
    let report = ended(&lost).await;
    assert_eq!((report.is_recorded, report.record.effect), (false, Effect::Unknown));
    sleep(PAUSES).await;
    assert_eq!(row(&calls, lost.id()).await.effect, None, "the store is away");
    fails.set(false);
    let busy = calls.runtime.begin(call("look").session(session.clone())).await.unwrap_err();
    assert!(matches!(busy, Error::Busy), "its session waits for the end: {busy:?}");
    sleep(PAUSES).await;
    let row = row(&calls, lost.id()).await;
    assert_eq!(row.effect, Some(Effect::Committed));
    assert!(row.outcome.unwrap().is_ok());
    assert_eq!((ended(&lost).await, calls.runs("mail")), (report, 1), "what was told stays");
    assert_eq!(kind(&ended(&calls.begin(call("look").session(session)).await).await), "ok");
    drop(lost);
    calls.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_call_of_a_key_that_runs_again_is_not_ended_for_an_end_that_was_not_recorded() {
    let fails = Fails::default();
    let calls = Calls::on(SteppedStore::new(MemoryStore::new(), fails.clone())).await;
    fails.set(true);
    let lost = calls.begin(keyed("mail")).await;
    fails.set_reads(true); // so it is not known whether the ledger has the call open
    assert!(!ended(&lost).await.is_recorded);
    fails.set(false);
    fails.set_reads(false);
    let again = calls.begin(keyed("mail")).await;
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    sleep(PAUSES).await;
    calls.gate.open();
    let report = ended(&again).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
    assert!(report.is_recorded);
    drop((lost, again));
    calls.shutdown().await;
}
