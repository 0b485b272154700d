//! People that ask for a thing that needs a yes, stay away for long, and come back to say yes.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    life::Life,
    person::{AGAIN, Person},
    visits::{Answers, Visit},
};
use crate::audit::Counter;

/// Longer than any question takes to be shown, and than any turn takes after its yes.
const PATIENCE: Duration = Duration::from_secs(20);

impl Life {
    /// Lets each person submit a text, and go away once the question of its turn is shown.
    pub(crate) async fn ask_and_go_away(self: &Arc<Self>, texts: &[String]) {
        let mut people = JoinSet::new();
        for (number, text) in texts.iter().enumerate() {
            let life = self.clone();
            let visit = Visit::of(text, Answers::Never);
            people.spawn(async move {
                if let Some(person) = Person::open(&life, number).await {
                    person.live(vec![visit], &Semaphore::new(1)).await;
                }
            });
        }
        self.shows_all_questions("before the first death").await;
        // The people go with their process.
    }

    /// Requires that the question of each person is shown.
    pub(crate) async fn shows_all_questions(self: &Arc<Self>, when: &str) {
        let shown = async {
            for number in 0..self.scene.sessions.len() {
                let Some(person) = Person::open(self, number).await else { return };
                let is_asked = async || {
                    let state = person.session.state().await;
                    state.is_ok_and(|state| state.approval_request.is_some())
                };
                while !is_asked().await {
                    sleep(AGAIN).await;
                }
            }
        };
        if timeout(PATIENCE, shown).await.is_err() {
            self.finds(Counter::Disturbed, format!("a question is not shown {when}"));
        }
    }

    /// Lets each person come back, say yes, and wait until the turn has ended.
    pub(crate) async fn come_back_and_agree(self: &Arc<Self>) {
        let people: JoinSet<()> = (0..self.scene.sessions.len())
            .map(|number| {
                let life = self.clone();
                async move {
                    let Some(person) = Person::open(&life, number).await else { return };
                    *person.answers.lock().expect("no code under this lock panics") = Answers::Yes;
                    person.live(Vec::new(), &Semaphore::new(1)).await;
                }
            })
            .collect();
        if timeout(PATIENCE, people.join_all()).await.is_err() {
            self.finds(Counter::Stuck, "a turn that has its yes does not end".to_owned());
        }
    }
}
