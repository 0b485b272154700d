//! What must hold whatever happens at the same time: afterwards the tools' own counts are compared
//! with the ledger.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::scene::{Scene, Step, Steps, seeds};
use crate::{
    dispatcher::DispatcherMsg,
    port::{LedgerRow, Store},
    protocol::{Bound, CallResult, Decision, DecisionError, Effect},
    session::SessionRequest,
    test_runtime::{PATIENCE, TestRuntime, in_time},
};

/// The most worlds that are played beside the first ones where those are too tame: a busy machine
/// decides what happens in them.
const MORE: u64 = 64;

/// Nothing but sessions and questions is lost.
const OF_SESSIONS: &Steps = &[
    Step::Ask,
    Step::Ask,
    Step::Ask,
    Step::Ask,
    Step::Dismiss,
    Step::KillSession,
    Step::KillConfirm,
    Step::Wait,
];

/// The store and the dispatcher fail too: then a reserved number may stay unused.
const OF_ALL: &Steps = &[
    Step::Ask,
    Step::Ask,
    Step::Ask,
    Step::Ask,
    Step::Dismiss,
    Step::KillSession,
    Step::KillConfirm,
    Step::Wait,
    Step::KillDispatcher,
    Step::KillStoreActor,
    Step::FailBegin,
    Step::LoseReply,
];

impl Scene {
    /// Dismisses each turn that goes on though its caller has gone, and waits until it has ended.
    async fn ends(&self) {
        for slot in &self.slots {
            let stored = || self.runtime.store.session(slot.session());
            while stored().await.unwrap().unwrap().open_turn.is_some() {
                let (reply, dismissed) = oneshot::channel();
                self.runtime.send(slot, SessionRequest::Dismiss { only: None, reply });
                let _ = dismissed.await;
                tokio::task::yield_now().await;
            }
        }
    }

    /// Each session wakes once more, and the counts are compared.
    async fn check(&self, steps: &Steps) -> Vec<LedgerRow> {
        while self.runtime.handles.store.write(Vec::new()).await.is_err() {
            tokio::task::yield_now().await; // a fault that has not yet struck
        }
        self.ends().await;
        // Late handlers too, whose real end changes what a session that wakes meanwhile has read.
        self.runtime.context.tasks.close();
        in_time(self.runtime.context.tasks.wait()).await;
        for slot in &self.slots {
            while let Some(session) = slot.awake() {
                session.kill();
                tokio::task::yield_now().await;
            }
            let messages = self.runtime.state(slot).await.messages;
            let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
            let may_leave_out = steps.contains(&Step::FailBegin);
            let is_next = |a: &u64, b: &u64| if may_leave_out { b > a } else { *b == a + 1 };
            assert!(seqs.is_sorted_by(is_next), "{seqs:?}");
            let stored = self.runtime.store.session(slot.session()).await.unwrap().unwrap();
            assert_eq!((stored.open_turn, stored.messages), (None, messages));
        }
        let running = |reply| DispatcherMsg::RunningCalls { reply };
        let rows = self.runtime.at_rest().await;
        while self.runtime.handles.dispatcher.ask(running, PATIENCE).await != Ok(0) {
            tokio::task::yield_now().await; // it is being started anew
        }
        self.compare_acts(&rows);
        // A session that ended, however, has given its permits back.
        for bound in
            [Bound::RunningTurns, Bound::ApprovalRequests, Bound::RunningCalls, Bound::QueuedBytes]
        {
            while tree_held(&self.runtime, bound) > 0 {
                tokio::task::yield_now().await;
            }
        }
        rows
    }

    fn compare_acts(&self, rows: &[LedgerRow]) {
        let committed = |row: &&LedgerRow| row.effect == Some(Effect::Committed);
        let of = |names: &'static [&'static str]| {
            rows.iter().filter(move |row| names.contains(&&*row.name))
        };
        let in_ledger: BTreeMap<_, _> = of(&["save", "erase"])
            .filter(committed)
            .map(|row| (row.call.to_string(), json!(1)))
            .collect();
        assert_eq!(
            self.runtime.store.connection().values(),
            in_ledger,
            "each once, none without entry"
        );
        assert!(of(&["save", "erase", "look"]).all(|row| row.effect != Some(Effect::Unknown)));
        // A yes counts only where the person that gave it was not told otherwise.
        let told = self.told.lock().unwrap();
        let yes = told.answers.iter().filter(|(_, decision, _)| *decision == Decision::Approve);
        let yes = yes.filter(|(.., told)| matches!(told, Ok(()) | Err(DecisionError::NotKnown)));
        let approved: BTreeSet<_> = yes.map(|(call, ..)| *call).collect();
        assert!(of(&["erase"]).filter(committed).all(|row| approved.contains(&row.call)), "asked");
        let mut acts = self.acts.lock().unwrap().clone();
        for row in of(&["mail"]) {
            match (row.effect, acts.remove(&row.call)) {
                (Some(Effect::Committed), Some(1)) | (Some(Effect::None), None) => {}
                (Some(Effect::Unknown), None | Some(1)) => {}
                other => panic!("{other:?} {row:?}"),
            }
        }
        assert!(acts.is_empty(), "mails of no call in the ledger: {acts:?}");
    }
}

fn tree_held(runtime: &TestRuntime, bound: Bound) -> usize {
    runtime.handles.calls.admission.held(bound)
}

async fn run(seed: u64, steps: &'static Steps) -> Vec<LedgerRow> {
    let scene = Arc::new(Scene::new(seed).await);
    let people = TaskTracker::new();
    let asking = TaskTracker::new();
    scene.answers(&people);
    for number in 0..40 {
        scene.step(steps, number, &asking).await;
    }
    asking.close();
    in_time(asking.wait()).await;
    scene.slots.iter().for_each(|slot| slot.feed().close_subscriptions());
    people.close();
    in_time(people.wait()).await;
    in_time(scene.check(steps)).await
}

async fn run_all(steps: &'static Steps) {
    let seeds = seeds();
    let mut rows = Vec::new();
    for seed in seeds.start..seeds.end + MORE {
        if seed >= seeds.end && is_wild(&rows) {
            break;
        }
        let world = tokio::spawn(run(seed, steps)).await;
        rows.extend(world.unwrap_or_else(|panicked| panic!("seed {seed}: {panicked}")));
    }
    assert!(is_wild(&rows), "{} calls prove nothing", rows.len());
}

/// Tells whether enough has happened to prove anything.
fn is_wild(rows: &[LedgerRow]) -> bool {
    let has = |name: &str, effect| {
        rows.iter().any(|row| &*row.name == name && row.effect == Some(effect))
    };
    has("save", Effect::Committed)
        && has("save", Effect::None)
        && has("erase", Effect::Committed)
        && has("erase", Effect::None)
        && has("mail", Effect::Committed)
        && has("mail", Effect::Unknown)
        && rows.iter().any(|row| row.result == Some(CallResult::Discarded))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_interleaving_of_turns_dismissals_answers_and_kills_loses_or_doubles_an_effect() {
    run_all(OF_SESSIONS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_with_faults_of_the_store_and_of_the_dispatcher() {
    run_all(OF_ALL).await;
}
