//! The tools of a runtime: looked up by name, their schemas compiled once.

mod arguments;
mod error;
mod problems;
mod prune;
mod registered_tool;
mod shape;
mod tool_registry;
mod unwind;

pub use error::{
    CallError, DuplicateTool, Execution, NeedsConnection, OtherEffect, RegistryError, ToolNotFound,
};
pub use problems::Problems;
pub use registered_tool::{CheckedArguments, RegisteredTool};
pub use tool_registry::ToolRegistry;
