//! A wrong clock.

use std::time::Duration;

use madang::{Clock, Timestamp};

use super::Mistake;

/// A clock with a mistake.
#[derive(Debug)]
pub(crate) struct MistakenClock<C> {
    pub(crate) clock: C,
    pub(crate) mistake: Option<Mistake>,
    /// The moment of its creation.
    pub(crate) began: Timestamp,
}

impl<C: Clock> Clock for MistakenClock<C> {
    fn now(&self) -> Timestamp {
        match self.mistake {
            Some(Mistake::ClockRunsAhead) => self.clock.now().after(Duration::from_secs(3_600)),
            Some(Mistake::ClockStands) => self.began,
            _ => self.clock.now(),
        }
    }
}
