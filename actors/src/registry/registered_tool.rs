//! A tool with its compiled schema: it takes raw arguments and returns checked ones.

use std::{fmt, sync::Arc};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use tracing::info;

use super::{
    OtherEffect, Problems, RegistryError, arguments,
    problems::problems_of,
    prune::prune,
    shape::Shape,
    unwind::{Panicked, caught},
};
use crate::{
    ledger::schema_digest,
    port::{Access, Need, Prepared, Tool, ToolContext, ToolFault, ToolResult},
    protocol::{
        Breach, Digest, EffectPolicy, Fault, Limits, MAX_BYTES, Problem, SpecError, ToolOutcome,
        ToolSpec,
    },
};

/// The steps beyond which only the first problem of arguments is reported, because each problem
/// holds some memory.
const STEPS_FOR_ALL_PROBLEMS: u64 = 65_536;
/// The bytes of pointers beyond which only the first problem is reported, because each pointer has
/// the keys above it.
const BYTES_FOR_ALL_PROBLEMS: u64 = 16 * 1024 * 1024;

/// A registered tool. The schema is compiled once and shared by all calls.
pub struct RegisteredTool {
    tool: Arc<dyn Tool>,
    shape: Shape,
    validator: Validator,
    digest: Digest,
}

/// Arguments that the schema allows, without the keys that it does not know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CheckedArguments {
    /// The checked arguments, as an object.
    pub arguments: Value,
    /// JSON Pointers to the keys that were removed: the first, and as many more as there is room
    /// for.
    pub removed: Vec<String>,
    /// JSON Pointers to optional keys whose null counted as absent. They are not among the
    /// arguments.
    pub nulls: Vec<String>,
}

impl RegisteredTool {
    /// Checks a tool's description and compiles its schema.
    pub(super) fn new(tool: Arc<dyn Tool>) -> Result<Self, RegistryError> {
        let spec = tool.spec();
        spec.check()?;
        let fits = match tool.needs() {
            Some(Need::Transaction(_)) => spec.effect != EffectPolicy::Read,
            Some(Need::Reader(_)) => spec.effect == EffectPolicy::Read,
            None => true,
        };
        if !fits {
            return Err(OtherEffect { tool: spec.name.clone(), effect: spec.effect }.into());
        }
        let refused = |problem: String| SpecError::Schema { tool: spec.name.clone(), problem };
        let shape = Shape::of(&spec.parameters).map_err(refused)?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft7)
            .should_validate_formats(true)
            // Types of whole numbers use formats such as `uint8`, in addition to the bounds that
            // are checked.
            .should_ignore_unknown_formats(true)
            // An engine in linear time: the default one backtracks for seconds.
            .with_pattern_options(PatternOptions::regex())
            .offline()
            .build(&spec.parameters)
            .map_err(|error| {
                refused(format!("{error} (at {:?})", error.instance_path().as_str()))
            })?;
        let digest = schema_digest(spec);
        Ok(Self { tool, shape, validator, digest })
    }

    /// Returns the description.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Returns the hash of name and schema, as they were at registration. An approval is bound to
    /// it.
    #[must_use]
    pub const fn schema_digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Reads and validates arguments as a model wrote them.
    ///
    /// # Errors
    /// [`Problems`], as many as the limits allow.
    pub fn check(&self, raw: &str, limits: &Limits) -> Result<CheckedArguments, Problems> {
        let arguments = arguments::parse(raw, limits).map_err(|breach| whole(breach, limits))?;
        self.checked(Value::Object(arguments), limits)
    }

    /// Validates arguments that are a value already, under the default limits.
    ///
    /// # Errors
    /// [`Problems`], all of them.
    pub fn validate(&self, arguments: Value) -> Result<CheckedArguments, Problems> {
        let limits = Limits::default();
        let arguments =
            arguments::accept(arguments, &limits).map_err(|breach| whole(breach, &limits))?;
        self.checked(Value::Object(arguments), &limits)
    }

    /// Validates arguments that a person typed instead of a model's, under the bounds of a model's.
    /// Exactly what was typed runs: keys that the schema does not know are a problem, and are not
    /// silently removed.
    ///
    /// # Errors
    /// [`Problems`], all of them.
    pub fn check_typed(
        &self,
        arguments: Value,
        limits: &Limits,
    ) -> Result<CheckedArguments, Problems> {
        let typed = arguments::accept(arguments, limits).map_err(|breach| whole(breach, limits))?;
        let typed = Value::Object(typed);
        let max_bytes = limits.max_arguments_bytes.min(MAX_BYTES);
        if typed.to_string().len() > max_bytes {
            return Err(whole(Breach::TooLong { max_bytes }, limits));
        }
        let checked = self.checked(typed, limits)?;
        if checked.removed.is_empty() {
            Ok(checked)
        } else {
            Err(whole(Breach::Unknown(checked.removed), limits))
        }
    }

    /// Runs the handler on checked arguments. An outcome that could not be read again after it is
    /// stored is a `Serialize` fault, found before any of the call is kept.
    ///
    /// # Errors
    /// The handler's fault, or `Serialize`.
    pub async fn handle(
        &self,
        arguments: Value,
        prepared: Prepared,
        ctx: &ToolContext,
        access: Access<'_>,
        limits: &Limits,
    ) -> ToolResult<ToolOutcome> {
        outcome_of(self.tool.call(arguments, prepared, ctx, access).await, limits)
    }

    /// Does the slow work before the handler. A broken rule is returned as an outcome, and checked
    /// like one of [`handle`](Self::handle).
    ///
    /// # Errors
    /// The outcome that ends the call, or the fault.
    pub async fn prepare(
        &self,
        arguments: &Value,
        ctx: &ToolContext,
        limits: &Limits,
    ) -> Result<Prepared, ToolResult<ToolOutcome>> {
        let prepared = self.tool.prepare(arguments, ctx).await;
        prepared.map_err(|fault| outcome_of(Err(fault), limits))
    }

    fn checked(&self, mut arguments: Value, limits: &Limits) -> Result<CheckedArguments, Problems> {
        let Value::Object(fields) = &mut arguments else {
            return Err(whole(Breach::NotAnObject, limits));
        };
        let pruned = prune(&self.shape, fields, limits.max_validation_steps)
            .map_err(|breach| whole(breach, limits))?;
        if self.validator.is_valid(&arguments) {
            return match caught(|| self.tool.accepts(&arguments)) {
                Ok(Err(problem)) => Err(Problems::new(vec![problem], limits)),
                // A panic will happen again when the handler runs, and be an outcome there.
                Ok(Ok(())) | Err(Panicked) => {
                    let removed = pruned.removed.kept;
                    let nulls = pruned.nulls.kept;
                    if !nulls.is_empty() {
                        info!(tool = %self.spec().name, ?nulls, "took null for nothing");
                    }
                    Ok(CheckedArguments { arguments, removed, nulls })
                }
            };
        }
        let mut problems = Vec::new();
        let bytes = pruned.steps.saturating_mul(pruned.longest_pointer as u64);
        if pruned.steps > STEPS_FOR_ALL_PROBLEMS || bytes > BYTES_FOR_ALL_PROBLEMS {
            if let Err(error) = self.validator.validate(&arguments) {
                problems_of(&error, &mut problems);
            }
        } else {
            for error in self.validator.iter_errors(&arguments) {
                problems_of(&error, &mut problems);
            }
        }
        Err(Problems::new(problems, limits))
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredTool").field("name", &self.spec().name).finish_non_exhaustive()
    }
}

/// Turns an outcome that cannot be stored and read again into a fault.
fn outcome_of(result: ToolResult<ToolOutcome>, limits: &Limits) -> ToolResult<ToolOutcome> {
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(ToolFault::Rule(rule)) => ToolOutcome::Err(rule),
        Err(fault @ ToolFault::Unexpected { .. }) => return Err(fault),
    };
    match outcome.storable(limits.max_outcome_bytes) {
        Ok(()) => Ok(outcome),
        Err(cause) => {
            outcome.dismantle();
            Err(ToolFault::unexpected(Fault::SERIALIZE, cause))
        }
    }
}

fn whole(breach: Breach, limits: &Limits) -> Problems {
    Problems::new(vec![Problem::of_whole(breach)], limits)
}
