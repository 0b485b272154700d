//! Lets a person leave a turn: at once, once a handler has begun, or, by mistake, the turn of
//! another person.

use std::time::Duration;

use madang::{Clock as _, Error, TurnId, turn::Dismissed};
use tokio::time::sleep;

use super::{person::Person, plan::Act};
use crate::{mistakes::Mistake, oracle::Line};

impl Person {
    /// Leaves this turn once one of its handlers has begun.
    pub(super) async fn leaves_handler(&self, turn: TurnId) {
        let is_running = || {
            let oracle = self.life.scene.witness.oracle();
            let mut begun = oracle.begun.values().flatten();
            begun.any(|begun| begun.is_running && begun.act == Act::SlowSave)
        };
        while matches!(self.session.turn().await, Ok(Some(runs)) if runs.id() == turn) {
            if is_running() {
                self.dismiss(Some(turn)).await;
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Leaves the running turn, if any. No more of it may begin if it stops then.
    pub(super) async fn dismiss(&self, stops: Option<TurnId>) {
        let fate = &self.life.scene.fate;
        let runs = match self.session.turn().await {
            Ok(Some(turn)) => turn.id(),
            Ok(None) | Err(_) => return,
        };
        self.note(Line::Leaves { session: self.number });
        let dismissed: Result<Dismissed, Error> = self.session.dismiss().await;
        if self.life.makes(Mistake::FrontEndLeavesOthers) {
            self.leaves_another().await;
        }
        let at = fate.now();
        fate.note(format_args!("{} leaves: {}", self.number, dismissed.is_ok()));
        let Ok(dismissed) = dismissed else { return };
        let is_stored = dismissed.stored().await.is_ok();
        fate.note(format_args!("{} has left: {is_stored}", self.number));
        if is_stored && stops == Some(runs) {
            self.note(Line::Dismissed { turn: runs, at });
        }
    }

    /// Leaves the session of another person.
    async fn leaves_another(&self) {
        let people = self.life.scene.sessions.len();
        if let Ok(session) = self.life.session((self.number + 1) % people).await {
            let _ = session.dismiss().await;
        }
    }
}
