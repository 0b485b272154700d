//! Tools to test an application that embeds Madang, without a model and without a database.
//!
//! A test builds a runtime from a scripted model, a store in memory and fake tools. It sends a
//! text, and compares the events that a [`Probe`] renders as lines. All waits have a deadline, so a
//! test fails and does not hang.
//!
//! - [`ScriptedModel`] follows a script. The test drives a [`HandDrivenModel`] step by step.
//! - [`MemoryStore`] keeps everything in memory. [`SteppedStore`] stops or fails chosen steps of
//!   another store.
//! - [`FakeTool`] counts its runs and ends as the test says. [`end_name`] names the end of a call
//!   in one word.
//! - [`store_contract!`] tests your own store against every guarantee of the port. [`hostile`]
//!   makes JSON of hostile size and depth.
//! - [`Logs`] keeps what one test logs while others run.
//! - [`RuntimeHooks`] and [`SessionHooks`] reach inside a runtime: they kill actors and count
//!   tasks. A runtime has them with the feature `testing` of `madang`.
//!
//! ```
//! use madang_testing::{ScriptedCompletion, ScriptedModel};
//! use serde_json::json;
//!
//! let model = ScriptedModel::new([
//!     ScriptedCompletion::call("get_streak", &json!({ "habit": "run" })),
//!     ScriptedCompletion::text("Seven days in a row."),
//! ]);
//! # drop(model);
//! ```

mod end_name;
mod fake_tools;
mod hooks;
pub mod hostile;
mod logs;
mod lone_store;
mod memory_store;
mod model_pair;
mod probe;
mod scripted_model;
mod stepped_store;
pub mod store_contract;

pub use end_name::end_name;
pub use fake_tools::{End, FakeTool, Gate, Payload, Runs};
pub use hooks::{RuntimeHooks, SessionHooks};
pub use logs::{Logs, listen};
pub use lone_store::lone_store;
pub use memory_store::{MemoryConnection, MemoryStore, Paused, ReadOnly};
pub use model_pair::{HandCompletion, HandDrivenModel, HandScript, model_pair};
pub use probe::Probe;
pub use scripted_model::{ScriptError, ScriptedCompletion, ScriptedModel};
pub use stepped_store::{Read, StepResult, SteppedStore, Steps};
