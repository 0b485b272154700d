//! What every driver lets happen: people with plans, a model that follows them, tools that leave traces, and a store
//! whose steps are watched.
//!
//! A [`Scene`] outlives each process or runtime: who chats, what is written down outside ([`Witness`](crate::oracle::Witness)),
//! where chance comes from ([`Fate`]) and which mistake is made. A [`Life`] is one runtime on a store, with its people in it.
//! The drivers choose the store, the clock and the end: the simulation pauses the clock and lets steps fail; kills, power
//! cuts and failpoints live in real time, in which nothing fails but what the driver breaks.
//!
//! ```text
//! LifePlan --Visit--> Person --send, answer, leave--> Runtime --> PlanModel, tools, Weather(store)
//!                       |                                              |
//!                       +------------------- Line ---------------------+--> Witness
//! ```

mod fate;
mod follow;
mod life;
mod model;
mod person;
mod plan;
mod point;
mod tools;
mod trace;
mod visits;
mod weather;

pub use fate::Fate;
pub use life::{Life, Scene};
pub use plan::{Act, Step, TurnPlan};
pub use point::{Death, Point};
pub use tools::{EFFECTS, EffectRow};
pub use visits::{Answers, LifePlan, SessionPlan, Visit};

pub(crate) use tools::{PARTS, memory_rows, write_again};
#[cfg(feature = "failpoints")]
pub(crate) use visits::Before;
pub(crate) use visits::{Mishap, Victim};
