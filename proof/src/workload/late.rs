//! A person who submits one text after the other, and dismisses some of the turns.

use std::{sync::Arc, time::Duration};

use madang::{Clock as _, Error, OnDismiss, TurnOptions, event::TurnEnding};
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::{
    life::Life,
    person::{AGAIN, Person},
    plan::{Act, TurnPlan},
};
use crate::{
    audit::Counter,
    dice::Dice,
    oracle::{Asked, Began, Line},
};

impl Life {
    /// Lets a person submit one text after the other, and read all that is told. Some of the turns
    /// are dismissed, and are to finish all the same.
    pub(crate) async fn chat_on(self: Arc<Self>, number: usize, turns: usize, mut dice: Dice) {
        let Some(person) = Person::open(&self, number).await else { return };
        let submits = async |_: &TaskTracker| {
            for turn in 0..turns {
                let acts = [Act::Save, Act::SlowSave, Act::Mail, Act::Look];
                let plan = TurnPlan::draw(&mut dice, &format!("late.{number}.{turn}"), &acts);
                let leaves = dice.once_in(3).then(|| Duration::from_millis(dice.below(40)));
                person.is_answered(plan.to_string(), leaves).await;
            }
        };
        person.reads_while(submits).await;
        person.read_to_the_end().await;
    }
}

impl Person {
    /// Submits a text whose turn is to be answered, also where the person leaves it after a while.
    async fn is_answered(&self, text: String, leaves: Option<Duration>) {
        let number = self.number;
        let on_dismiss = OnDismiss::Finish;
        let disturbed = |what: String| self.life.finds(Counter::Disturbed, what);
        let index = self.life.scene.witness.asks(Asked {
            session: number,
            text: text.clone(),
            at: self.life.scene.fate.now(),
            on_dismiss,
            is_keyed: false,
            began: None,
        });
        let submitted = loop {
            let options = TurnOptions { on_dismiss, ..TurnOptions::default() };
            match self.session.send_with(text.as_str(), options).await {
                // The turn before has ended for its person, and its session is about to hear it.
                Err(Error::Busy) => sleep(AGAIN).await,
                submitted => break submitted,
            }
        };
        self.note(Line::Asked { index, began: Began::of(&submitted) });
        let turn = match submitted {
            Ok(turn) => turn,
            Err(error) => return disturbed(format!("{text:?} is refused: {error}")),
        };
        if let Some(after) = leaves {
            sleep(after).await;
            self.note(Line::Leaves { session: number });
            let _ = self.session.dismiss().await;
        }
        let id = turn.id();
        match turn.ended().await {
            Ok(end) if end.ending == TurnEnding::Answered => {
                self.note(Line::Ended { session: number, turn: id, ending: end.ending });
            }
            end => disturbed(format!("turn {id} ended as {end:?}")),
        }
    }
}
