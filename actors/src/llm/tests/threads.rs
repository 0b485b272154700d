//! Completions that end and begin on several threads, and a runtime that shuts down beneath them.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tokio::{runtime::Builder, sync::oneshot};
use tokio_util::sync::CancellationToken;

use super::{Llm, LlmMsg};
use crate::{
    port::{BoxFuture, ChatModel, Deltas, ModelError, ModelInfo},
    protocol::{Completion, CompletionRequest, Limits},
};

/// A test that takes so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers soon, and counts how many it answers at once.
#[derive(Debug, Clone, Default)]
struct Counted {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

const AT_ONCE: usize = 3;

impl ChatModel for Counted {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "counted".into(), has_parallel_calls: true, max_concurrent: AT_ONCE }
    }

    fn complete(
        &self,
        _: CompletionRequest,
        _: Deltas,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            Ok(Completion::default())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_that_are_given_back_on_any_thread_are_all_given_again() {
    const ASKED: u128 = 2_000;
    let model = Counted::default();
    let limits = Limits { max_waiting_completions: 5_000, ..Limits::default() };
    let mut llm = Llm::new(model.clone(), limits).await;
    for number in 0..ASKED {
        llm.ask(number, if number % 3 == 0 { "kim" } else { "lee" });
    }
    let mut ended = BTreeSet::new();
    for _ in 0..ASKED {
        let (number, how) = tokio::time::timeout(PATIENCE, llm.ended()).await.unwrap();
        assert!(ended.insert(number), "{number} ended twice");
        assert_eq!(how, "", "{number}");
    }
    assert_eq!(model.most.load(Ordering::SeqCst), AT_ONCE, "all slots were taken, and no more");
    let (reply, waiting) = oneshot::channel();
    llm.actor.cast(LlmMsg::QueueLength { reply }).unwrap();
    assert_eq!(waiting.await, Ok(0));
}

#[test]
fn a_runtime_that_shuts_down_beneath_completions_that_begin_and_end_does_end() {
    let (told, ended) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..300 {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.unwrap();
            let model = Counted::default();
            runtime.block_on(async {
                let llm = Llm::new(model, Limits::default()).await;
                tokio::spawn(async move {
                    for number in 0.. {
                        llm.ask(number, "kim");
                        if number % 8 == 0 {
                            tokio::task::yield_now().await;
                        }
                    }
                });
                tokio::task::yield_now().await;
            });
        }
        told.send(()).unwrap();
    });
    ended.recv_timeout(PATIENCE).expect("a runtime hung");
}
