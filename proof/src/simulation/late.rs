//! Reports that come late. The store takes a write, and its reply is lost. The look that tells
//! about it comes while the next turn of the chat runs. Nothing else goes wrong, so every turn is
//! answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use madang::{
    SessionId,
    store::{Store, StoreError},
    tool::BoxFuture,
};
use madang_actors::port::{StoredSession, Transaction};
use madang_testing::{Read, StepResult, SteppedStore, Steps};
use tokio::{task::JoinSet, time::sleep};

use super::world::{World, at_once};
use crate::{
    audit::{Counter, Findings},
    dice::Dice,
    mistakes::LateMistake,
    workload::{Fate, SessionPlan},
};

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The seed of everything.
    pub seed: u64,
    /// The chats at once.
    pub chats: usize,
    /// The turns of each chat.
    pub turns: usize,
    /// The mistake of the store.
    pub mistake: Option<LateMistake>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct LateReport {
    /// The replies that were lost.
    pub lost: u64,
    /// The looks that came late.
    pub late: u64,
    /// The turns that were answered.
    pub answered: usize,
    /// The broken promises.
    pub findings: Findings,
}

impl Late {
    /// Runs to the end.
    #[must_use]
    pub fn run(&self) -> LateReport {
        let mut dice = Dice::new(self.seed);
        let fate = Fate::paused(dice.next(), 0);
        let world = World::new(fate.clone(), SessionPlan::draw(&mut dice, self.chats), None);
        let replies = LateReplies { fate, mistake: self.mistake, counts: Arc::default() };
        let store = SteppedStore::new(world.store.clone(), replies.clone());
        let cast = world.scene.cast(&world.store, self.chats);
        world.on_a_thread(true, async {
            let Ok(life) = world.scene.begin_with(store, cast).await else {
                return world.scene.witness.finds(Counter::Stuck, "no life begins".to_owned());
            };
            let chats = (0..self.chats)
                .map(|number| life.clone().chat_on(number, self.turns, Dice::new(dice.next())));
            chats.collect::<JoinSet<()>>().join_all().await;
            life.shut_down().await;
        });
        let mut findings = world.judge();
        let answered = at_once(world.answered(&mut findings));
        let Counts { lost, late, .. } = &*replies.counts;
        LateReport { lost: lost.load(Relaxed), late: late.load(Relaxed), answered, findings }
    }
}

/// A store whose replies are lost now and then, and that shows a session late behind that.
#[derive(Debug, Clone)]
struct LateReplies {
    fate: Fate,
    mistake: Option<LateMistake>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    lost: AtomicU64,
    late: AtomicU64,
    /// The looks that are still to come late.
    due: AtomicU64,
}

/// A loss that fate wanted.
#[derive(Debug, thiserror::Error)]
#[error("the simulation lost the reply")]
struct SwallowedReply;

impl Steps for LateReplies {
    fn session<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        Box::pin(async move {
            let is_late =
                self.counts.due.fetch_update(Relaxed, Relaxed, |due| due.checked_sub(1)).is_ok();
            if is_late {
                self.counts.late.fetch_add(1, Relaxed);
                sleep(Duration::from_millis(self.fate.below(300))).await;
            }
            let mut stored = of.session(session).await?;
            if is_late && self.mistake == Some(LateMistake::ShowsNoTurn) {
                stored.iter_mut().for_each(|stored| stored.open_turn = None);
            }
            Ok(stored)
        })
    }

    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            of.commit().await?;
            if self.fate.below(3) > 0 {
                return Ok(());
            }
            self.counts.lost.fetch_add(1, Relaxed);
            self.counts.due.fetch_add(1, Relaxed);
            Err(StoreError::unknown(SwallowedReply))
        })
    }
}
