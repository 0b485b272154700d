//! Lets all people of a life make their visits, or come to rest, at the same time.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use super::{life::Life, person::Person, visits::Visit};
use crate::audit::Counter;

/// A time that no life takes by its own clock.
const ENDLESS: Duration = Duration::from_secs(3_600);

impl Life {
    /// Lets every person make their visits. False if they do not end.
    pub async fn visits(self: &Arc<Self>, visits: Vec<Vec<Visit>>) -> bool {
        self.visits_at_once(visits, Semaphore::MAX_PERMITS).await
    }

    /// Lets every person make their visits, this many at once.
    pub(crate) async fn visits_at_once(
        self: &Arc<Self>,
        visits: Vec<Vec<Visit>>,
        at_once: usize,
    ) -> bool {
        let permits = Arc::new(Semaphore::new(at_once));
        let all = visits.into_iter().enumerate().map(|(number, visits)| {
            let life = self.clone();
            let permits = permits.clone();
            async move {
                let lives = async {
                    if let Some(person) = Person::open(&life, number).await {
                        person.live(visits, &permits).await;
                    }
                };
                life.has_ended.run_until_cancelled(lives).await;
            }
        });
        self.ends(all.collect(), ENDLESS, "a life did not end").await
    }

    /// Lets every person come back once more and read all events.
    pub async fn rests(self: &Arc<Self>) {
        self.rests_within(ENDLESS).await;
    }

    /// The same within this time.
    pub(crate) async fn rests_within(self: &Arc<Self>, patience: Duration) {
        let all = (0..self.scene.sessions.len()).map(|number| {
            let life = self.clone();
            async move {
                if let Some(person) = Person::open(&life, number).await {
                    person.read_to_the_end().await;
                }
            }
        });
        self.ends(all.collect(), patience, "not every person comes to rest").await;
    }

    /// Waits for people. False, and a finding, if they do not end within this time.
    async fn ends(&self, mut people: JoinSet<()>, patience: Duration, otherwise: &str) -> bool {
        let all = timeout(patience, async { while people.join_next().await.is_some() {} });
        let has_ended = all.await.is_ok();
        if !has_ended {
            self.finds(Counter::Stuck, otherwise.to_owned());
        }
        has_ended
    }

    /// Brings every person to rest within this time, ends the runtime in order, and records what
    /// goes on behind that.
    pub(crate) async fn ends_within(self: &Arc<Self>, patience: Duration) {
        self.rests_within(patience).await;
        if !self.shut_down().await {
            self.finds(Counter::Stuck, "something goes on behind the shutdown".to_owned());
        }
    }
}
