//! People who stay away. Each turn waits for a yes while the process dies and starts again, far
//! more often than a turn that works is resumed. Then they come back, and each yes counts once.

use std::time::Duration;

use tokio::time::sleep;

use super::world::{World, at_once};
use crate::{
    audit::{Counter, Findings},
    dice::Dice,
    mistakes::{AwayMistake, gives_up},
    workload::{Act, Fate, SessionPlan, Step},
};

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// The seed of everything.
    pub seed: u64,
    /// The chats, in each of which a person is asked.
    pub chats: usize,
    /// The deaths while the people are away.
    pub deaths: u64,
    /// The mistake of a start.
    pub mistake: Option<AwayMistake>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct AwayReport {
    /// The deaths while people were away.
    pub deaths: u64,
    /// Turns that ended as planned after their yes.
    pub answered: usize,
    /// The broken promises.
    pub findings: Findings,
}

impl Away {
    /// Runs to the end.
    #[must_use]
    pub fn run(&self) -> AwayReport {
        let mut dice = Dice::new(self.seed);
        let fate = Fate::paused(dice.next(), 0);
        let mut world = World::new(fate, SessionPlan::draw(&mut dice, self.chats), None);
        world.scene.limits.decision_timeout = Duration::from_secs(24 * 60 * 60);
        world.scene.limits.max_awake_sessions = self.chats;
        let texts: Vec<_> = (0..self.chats).map(|number| plan(&mut dice, number)).collect();
        world.on_a_thread(true, async {
            let Some(life) = world.begin().await else { return };
            life.ask_and_go_away(&texts).await;
        });
        for death in 1..=self.deaths {
            // It dies as it starts, as its turns go on, or later.
            let lives_for = Duration::from_millis(dice.below(200));
            let is_looked_at = dice.once_in(4);
            // Some of the turns wait for room, and are asked about all the same.
            world.scene.limits.max_running_turns = 1 + dice.index(self.chats);
            world.on_a_thread(true, async {
                let store = &world.store;
                let fate = &world.scene.fate;
                if let Err(error) = gives_up(self.mistake, death, store, fate).await {
                    world.scene.witness.finds(Counter::Damaged, error.to_string());
                }
                let Some(life) = world.begin().await else { return };
                let resumes = life.clone();
                tokio::spawn(async move { resumes.runtime.resume_open().await });
                if is_looked_at {
                    life.shows_all_questions(&format!("after death {death}")).await;
                }
                sleep(lives_for).await;
            });
        }
        world.on_a_thread(true, async {
            let Some(life) = world.begin().await else { return };
            life.come_back_and_agree().await;
            life.shut_down().await;
        });
        let mut findings = world.judge();
        let answered = at_once(world.answered(&mut findings));
        AwayReport { deaths: self.deaths, answered, findings }
    }
}

/// Draws a plan whose turn waits for a person: before that it may write, and behind it do more.
fn plan(dice: &mut Dice, number: usize) -> String {
    let mut steps = vec![Act::Erase];
    if dice.once_in(2) {
        steps.insert(0, Act::Save);
    }
    steps.extend((0..dice.below(3)).map(|_| *dice.pick(&[Act::Save, Act::Mail, Act::Look])));
    let step = |(index, act)| Step { act, token: format!("away.{number}.{index}") };
    let words = steps.into_iter().enumerate().map(step);
    let word = |Step { act, token }: Step| format!("{}:{token}", act.name());
    words.map(word).collect::<Vec<_>>().join(" ")
}
