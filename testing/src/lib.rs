//! Doubles and suites for tests, of this crate and of embedders.

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
