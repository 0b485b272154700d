//! Tools: a typed async function becomes a [`Tool`], and the type of its arguments becomes the
//! schema.
//!
//! ```
//! use madang::tool::{self, EffectPolicy, ToolContext, ToolResult};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// The name to greet.
//!     #[schemars(length(min = 1, max = 50))]
//!     name: String,
//! }
//!
//! async fn greet(args: Greet, ctx: &ToolContext) -> ToolResult<String> {
//!     let hello = ctx.locale.pick("안녕하세요", "Hello");
//!     Ok(format!("{hello}, {}!", args.name))
//! }
//!
//! let tool = tool::plain("greet", "Greets a person.", greet).effect(EffectPolicy::Read);
//! tool::ToolRegistry::new().register(tool)?;
//! # Ok::<(), tool::RegistryError>(())
//! ```
//!
//! - [`plain`]: no database. What it does elsewhere cannot be undone, so it is not cut off at its
//!   deadline.
//! - [`reading`]: a connection that cannot write.
//! - [`transactional`]: writes in the transaction of the call's ledger entry, and has about 250 ms
//!   for it.
//! - [`prepared`]: the same, with slow work before the transaction is taken.
//! - [`with`]: methods of a value that several tools share. [`from_schema`]: a schema written by
//!   hand.
//!
//! Invariants:
//! - A handler runs only with arguments that its schema allows, and, if it must ask, only after a
//!   person has approved.
//! - After a crash, either both the writes of a transactional tool and the record of its end are
//!   there, or neither is.
//! - The model and the person read `Err(ToolFault::rule("code", reason))` as it is. They read only
//!   the type of any other error.

mod async_fn;
mod handler;
mod misfit;
mod schema;
#[cfg(test)]
mod tests;
mod typed_tool;
mod values;
mod with;

pub use async_fn::{AsyncFn1, AsyncFn2, AsyncFn3, PrepareFn};
/// A function that a model can call. A typed async function becomes a tool by [`plain`],
/// [`reading`], [`transactional`] or [`prepared`]. By hand it looks like this:
///
/// ```
/// use madang::tool::{
///     Access, BoxFuture, EffectPolicy, Prepared, Tool, ToolContext, ToolOutcome, ToolRegistry, ToolResult, ToolSpec,
/// };
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Double(ToolSpec);
///
/// impl Tool for Double {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     fn call<'a>(
///         &'a self,
///         arguments: Value,
///         _: Prepared,
///         _: &'a ToolContext,
///         _: Access<'a>,
///     ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
///         let number = arguments["number"].as_i64().unwrap_or_default(); // The schema requires it.
///         Box::pin(async move { Ok(ToolOutcome::ok(json!(number * 2))) })
///     }
/// }
///
/// let number = json!({ "type": "integer", "minimum": 0, "maximum": 1000 });
/// let schema = json!({ "type": "object", "properties": { "number": number }, "required": ["number"] });
/// let spec = ToolSpec::new("double", "Doubles a number.", schema).effect(EffectPolicy::Read);
/// ToolRegistry::new().register(Double(spec))?;
/// # Ok::<(), madang::tool::RegistryError>(())
/// ```
pub use madang_actors::port::Tool;
pub use madang_actors::{
    port::{
        Access, BoxFuture, Cancelled, CancelledBy, ConnectionType, Need, Prepared,
        ProgressReporter, Resource, ToolContext, ToolFault, ToolResult,
    },
    protocol::{
        Breach, CancelReason, EffectPolicy, Fault, Locale, Problem, SpecError, ToolCancelled,
        ToolErr, ToolOk, ToolOutcome, ToolProgress, ToolSpec, WantedCall, call_envelope, envelope,
    },
    registry::{
        CheckedArguments, DuplicateTool, OtherEffect, Problems, RegisteredTool, RegistryError,
        ToolNotFound, ToolRegistry, has_rounded_number,
    },
};
/// The version of schemars with which argument structs derive their schemas:
/// `#[schemars(crate = "madang::tool::schemars")]` spares a dependency.
pub use schemars;
pub use typed_tool::{
    NoArguments, TypedTool, from_schema, plain, prepared, reading, transactional,
};
pub use values::ValueCount;
pub use with::{With, with};
