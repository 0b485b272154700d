//! What an application tests with that embeds Madang.
//!
//! - [`ScriptedModel`] answers by a script, [`HandDrivenModel`] as the test tells it, step by step.
//! - [`MemoryStore`] keeps everything in memory; [`SteppedStore`] stops or fails at chosen steps of another store.
//! - [`FakeTool`] counts its runs, and ends as the test says.
//! - [`Probe`] reads a session's events and writes each as a line, to be compared.
//! - [`store_contract!`] tests every promise that a store of your own has to keep; [`hostile`] makes JSON of hostile size and depth.
//! - [`RuntimeHooks`] and [`SessionHooks`] reach inside: they kill actors and count tasks.

mod fake_tools;
mod hooks;
pub mod hostile;
mod lone_store;
mod memory_store;
mod model_pair;
mod probe;
mod scripted_model;
mod stepped_store;
pub mod store_contract;

pub use fake_tools::{End, FakeTool, Gate, Payload, Runs};
pub use hooks::{RuntimeHooks, SessionHooks};
pub use lone_store::lone_store;
pub use memory_store::{MemoryConnection, MemoryStore, Paused, ReadOnly};
pub use model_pair::{HandCompletion, HandDrivenModel, HandScript, model_pair};
pub use probe::Probe;
pub use scripted_model::{ScriptError, ScriptedCompletion, ScriptedModel};
pub use stepped_store::{Read, StepResult, SteppedStore, Steps};
