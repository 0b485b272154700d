//! A tool with its compiled schema: it takes raw arguments and gives checked ones.

use std::{fmt, sync::Arc};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use tracing::{error, info};

use super::{
    CallError, Execution, NeedsConnection, OtherEffect, Problems, RegistryError, arguments,
    problems::problems_of,
    prune::prune,
    shape::Shape,
    unwind::{Panicked, caught, unwind},
};
use crate::{
    ledger::schema_digest,
    port::{Access, Need, Prepared, Tool, ToolContext, ToolFault, ToolResult},
    protocol::{
        Breach, Digest, EffectPolicy, Fault, Limits, MAX_BYTES, Problem, SpecError, Text,
        ToolOutcome, ToolSpec,
    },
};

/// The steps beyond which only the first problem of arguments is told: each problem holds some memory.
const STEPS_FOR_ALL_PROBLEMS: u64 = 65_536;
/// The bytes of places beyond which only the first problem is told: each place has the keys above it.
const BYTES_FOR_ALL_PROBLEMS: u64 = 16 * 1024 * 1024;

/// A registered tool: the schema is compiled once and shared by all calls.
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
    /// JSON Pointers to the keys that were removed: the first, and more as far as there is room.
    pub removed: Vec<String>,
    /// JSON Pointers to optional keys whose null counted as absent: they are not among the arguments.
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
            // Types of whole numbers give themselves formats such as `uint8`, beside the bounds that are checked.
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

    /// Gives the description.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Gives the hash of name and schema, as they were at registration: an approval is bound to it.
    #[must_use]
    pub const fn schema_digest(&self) -> &Digest {
        &self.digest
    }

    /// Gives the tool.
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

    /// Validates arguments that a person typed in place of a model's, under the bounds of a model's. Exactly what was
    /// typed runs: keys that the schema does not know are a problem, and are not removed in silence.
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

    /// Runs the handler on checked arguments. An outcome that could not be read again once stored is a `Serialize`
    /// fault, found before any of the call is kept.
    ///
    /// # Errors
    /// The fault that the handler gives in place of an outcome, or `Serialize`.
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

    /// Does the slow work before the handler. A broken rule is given as an outcome, and checked like one of
    /// [`handle`](Self::handle).
    ///
    /// # Errors
    /// The outcome in place of the work, or the fault.
    pub async fn prepare(
        &self,
        arguments: &Value,
        ctx: &ToolContext,
        limits: &Limits,
    ) -> Result<Prepared, ToolResult<ToolOutcome>> {
        let prepared = self.tool.prepare(arguments, ctx).await;
        prepared.map_err(|fault| outcome_of(Err(fault), limits))
    }

    /// Validates and runs outside the dispatcher: no question is asked and no step recorded. For tools that need no
    /// connection. Never panics.
    ///
    /// # Errors
    /// [`CallError`] where the tool gave no outcome of its own; a broken rule is an outcome.
    pub async fn run(&self, arguments: Value, ctx: &ToolContext) -> Result<ToolOutcome, CallError> {
        self.run_on(arguments, ctx, Access::None).await
    }

    /// Runs like [`run`](Self::run) on a connection of the caller's own, for tools that need one: [`Access::Read`] or
    /// [`Access::Transaction`], as [`Tool::needs`] says. The caller commits the transaction, and undoes it where the
    /// outcome is no success.
    ///
    /// # Errors
    /// [`CallError`] where the tool gave no outcome of its own; [`CallError::Connection`] where it needs another access
    /// than it is given, and did not run.
    pub async fn run_on(
        &self,
        arguments: Value,
        ctx: &ToolContext,
        access: Access<'_>,
    ) -> Result<ToolOutcome, CallError> {
        let CheckedArguments { arguments, removed, .. } = self.validate(arguments)?;
        if !removed.is_empty() {
            info!(tool = %self.spec().name, ?removed, "removed arguments that the schema does not know");
        }
        match (self.tool.needs(), &access) {
            (None, _)
            | (Some(Need::Reader(_)), Access::Read(_))
            | (Some(Need::Transaction(_)), Access::Transaction(_)) => {}
            (Some(need @ (Need::Reader(_) | Need::Transaction(_))), _) => {
                return Err(NeedsConnection { tool: self.spec().name.clone(), need }.into());
            }
        }
        let failed = |fault, cause| Execution { tool: self.spec().name.clone(), fault, cause };
        let ended = unwind(async {
            let limits = Limits::default();
            match self.prepare(&arguments, ctx, &limits).await {
                Ok(prepared) => {
                    self.handle(arguments.clone(), prepared, ctx, access, &limits).await
                }
                Err(instead) => instead,
            }
        });
        match ended.await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(ToolFault::Rule(rule))) => Ok(ToolOutcome::Err(rule)),
            Ok(Err(ToolFault::Unexpected { fault, cause, .. })) => {
                Err(failed(fault, Some(cause)).into())
            }
            Err(Panicked) => Err(failed(Fault::PANIC, None).into()),
        }
    }

    /// Runs like [`run`](Self::run), with every end as an outcome in the words of the context's language.
    pub async fn call(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        self.call_on(arguments, ctx, Access::None).await
    }

    /// Runs like [`run_on`](Self::run_on), with every end as an outcome in the words of the context's language.
    pub async fn call_on(
        &self,
        arguments: Value,
        ctx: &ToolContext,
        access: Access<'_>,
    ) -> ToolOutcome {
        match self.run_on(arguments, ctx, access).await {
            Ok(outcome) => outcome,
            Err(CallError::Validation(problems)) => {
                let problems = problems.in_locale(ctx.locale);
                ToolOutcome::error(
                    "validation",
                    Text::BadArguments(&problems).in_locale(ctx.locale),
                )
            }
            Err(CallError::Connection(lacking)) => {
                error!(tool = %lacking.tool, %lacking, "failed to run a tool");
                let text = Text::HandlerFailed(&Fault::default()).in_locale(ctx.locale);
                ToolOutcome::error("handler_error", text)
            }
            Err(CallError::Execution(failure)) => {
                let cause = failure.cause.as_ref().map(tracing::field::display);
                error!(tool = %failure.tool, fault = failure.fault.name(), cause, "failed to run a tool");
                ToolOutcome::error(
                    "handler_error",
                    Text::HandlerFailed(&failure.fault).in_locale(ctx.locale),
                )
            }
        }
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
                // A panic will happen again where the handler is run, and be an outcome there.
                Ok(Ok(())) | Err(Panicked) => {
                    let (removed, nulls) = (pruned.removed.kept, pruned.nulls.kept);
                    if !nulls.is_empty() {
                        info!(tool = %self.spec().name, ?nulls, "took null for nothing");
                    }
                    Ok(CheckedArguments { arguments, removed, nulls })
                }
            };
        }
        let mut problems = Vec::new();
        let bytes = pruned.steps.saturating_mul(pruned.longest_place as u64);
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
