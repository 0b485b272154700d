//! The workload of every driver: people with plans, a model that follows them, tools that leave
//! traces, and a store whose steps are watched.
//!
//! A [`Scene`] outlives each process or runtime. It has the sessions, the
//! [`Witness`](crate::oracle::Witness) that records outside, the source of chance ([`Fate`]), and
//! the planted mistake. A [`Life`] is one runtime on a store, with its people in it. The drivers
//! choose the store, the clock and the end. The simulation pauses the clock and lets steps fail.
//! Kills, power cuts and failpoints live in real time, in which only the driver breaks anything.
//!
//! Invariant: a seed decides every plan before anything runs.
//!
//! ```text
//! LifePlan --Visit--> Person --send, answer, leave--> Runtime --> FickleModel, tools, Weather(store)
//!                       |                                              |
//!                       +------------------- Line ---------------------+--> Witness
//! ```

mod answering;
#[cfg(feature = "sqlite")]
mod away;
mod fate;
mod follow;
mod history;
mod late;
mod leaving;
mod life;
mod model;
mod people;
mod person;
mod plan;
mod point;
mod reading;
mod tools;
mod trace;
mod visits;
mod weather;

pub use fate::Fate;
pub use history::history;
pub use life::{Life, Scene};
pub use plan::{Act, Step, TurnPlan};
pub use point::{Death, Point};
pub use tools::{EFFECTS, EffectRow};
pub use visits::{Answers, LifePlan, SessionPlan, Visit};

#[cfg(feature = "sqlite")]
pub(crate) use answering::drawn;
#[cfg(feature = "sqlite")]
pub(crate) use follow::{asking, last_turn};
pub(crate) use model::CUT_OFF;
pub(crate) use tools::{PARTS, memory_rows, write_again};
#[cfg(feature = "sqlite")]
pub(crate) use visits::{Before, LifeEnd};
pub(crate) use visits::{Mishap, Victim};
