//! The tools of a runtime: looked up by name, their schemas compiled once.
//!
//! A [`ToolRegistry`] takes each [`Tool`](crate::port::Tool) with its description and makes a
//! [`RegisteredTool`] of it. [`RegisteredTool::check`] turns the text of a model into
//! [`CheckedArguments`], or into [`Problems`] from which the model reads what to mend.
//!
//! Invariants:
//! - No tool is added after the start.
//! - No schema or argument overflows the stack or takes forever.
//! - No problem repeats a value of the arguments.

mod arguments;
mod digits;
mod error;
mod problems;
mod prune;
mod registered_tool;
mod shape;
mod tool_registry;
mod unwind;

pub use digits::has_rounded_number;
pub use error::{DuplicateTool, OtherEffect, RegistryError, ToolNotFound};
pub use problems::Problems;
pub use registered_tool::{CheckedArguments, RegisteredTool};
pub use tool_registry::ToolRegistry;
pub(crate) use unwind::polled;
pub use unwind::{Panicked, unwind};
