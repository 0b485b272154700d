//! The first step of a call: look up, validate. Only this file makes a [`CheckedCall`].

use std::sync::Arc;

use serde_json::Value;
use tracing::{info, warn};

use super::{CallContext, msg::DispatchRequest, not_run::NotRun};
use crate::{
    approval::CheckedDecision,
    ledger::digest,
    protocol::{Decision, Digest, Shown, Text},
    registry::RegisteredTool,
};

/// A call whose tool exists and whose arguments fit its schema.
#[derive(Debug)]
pub(super) struct CheckedCall {
    request: Arc<DispatchRequest>,
    tool: Arc<RegisteredTool>,
    arguments: Arc<Value>,
    /// The digest of the tool's name and schema.
    schema: Digest,
    /// The texts that a person is shown about it, or was.
    shown: Option<Box<Shown>>,
    digest: Digest,
}

impl CheckedCall {
    pub(super) const fn request(&self) -> &Arc<DispatchRequest> {
        &self.request
    }

    pub(super) const fn tool(&self) -> &Arc<RegisteredTool> {
        &self.tool
    }

    pub(super) const fn arguments(&self) -> &Arc<Value> {
        &self.arguments
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) const fn schema(&self) -> Digest {
        self.schema
    }

    pub(super) const fn shown(&self) -> Option<&Shown> {
        match &self.shown {
            Some(shown) => Some(&**shown),
            None => None,
        }
    }

    /// Computes the digest of these arguments in place of the call's own.
    pub(super) fn digest_of(&self, arguments: &Value) -> Digest {
        let DispatchRequest { user, session, call, .. } = &*self.request;
        digest(&self.schema, arguments, user, session, call.id, self.shown())
    }

    /// Replaces arguments and shown texts by those of the ledger. The arguments fit the schema that
    /// their digest names, because no other schema and no other text have that digest.
    pub(super) fn restore(&mut self, arguments: Arc<Value>, shown: Option<Box<Shown>>) {
        self.shown = shown;
        self.digest = self.digest_of(&arguments);
        self.arguments = arguments;
    }

    /// Adds every byte that a person is shown about the call.
    pub(super) fn asked_with(&mut self, shown: Shown) {
        self.shown = Some(Box::new(shown));
        self.digest = self.digest_of(&self.arguments);
    }

    /// Copies the call with the arguments that the user typed, if the decision has some.
    pub(super) fn edited(&self, decision: &CheckedDecision) -> Option<Self> {
        let Decision::Edit { arguments } = decision.get() else { return None };
        Some(Self {
            digest: self.digest_of(arguments),
            arguments: arguments.clone().into(),
            request: self.request.clone(),
            tool: self.tool.clone(),
            schema: self.schema,
            shown: self.shown.clone(),
        })
    }

    /// Changes what would run without another check.
    #[cfg(test)]
    pub(super) fn plant(&mut self, arguments: Value) {
        self.arguments = arguments.into();
    }
}

/// Looks the tool up and validates the arguments.
///
/// # Errors
/// [`NotRun`] says how a call ends that does not fit.
pub(super) fn check(
    request: Arc<DispatchRequest>,
    context: &CallContext,
) -> Result<CheckedCall, NotRun> {
    let name = &request.call.name;
    let tool = match context.registry.get(name) {
        Ok(tool) => tool.clone(),
        Err(error) => {
            warn!(call = %request.call.id, %error, "refused a call");
            let text = if name.is_empty() { Text::NoTool } else { Text::UnknownTool(name) };
            return Err(NotRun::error("unknown_tool", &text, &request));
        }
    };
    let checked = match tool.check(&request.call.arguments, &context.limits) {
        Ok(checked) => checked,
        Err(problems) => {
            info!(call = %request.call.id, tool = %name, %problems, "refused a call");
            let problems = problems.in_locale(request.locale);
            return Err(NotRun::error("validation", &Text::BadArguments(&problems), &request));
        }
    };
    if !checked.removed.is_empty() {
        info!(call = %request.call.id, tool = %name, removed = ?checked.removed, "removed arguments that the schema does not know");
    }
    let schema = *tool.schema_digest();
    let DispatchRequest { user, session, call, .. } = &*request;
    let digest = digest(&schema, &checked.arguments, user, session, call.id, None);
    let arguments = checked.arguments.into();
    Ok(CheckedCall { request, tool, arguments, schema, shown: None, digest })
}
