//! The first step of a call: look up, validate. Only this file makes a [`CheckedCall`].

use std::sync::Arc;

use serde_json::Value;
use tracing::{info, warn};

use super::{Around, msg::DispatchRequest};
use crate::{
    ledger::digest,
    protocol::{Digest, Text, ToolOutcome},
    registry::{CheckedArguments, RegisteredTool},
};

/// A call whose tool exists and whose arguments fit its schema.
#[derive(Debug)]
pub(super) struct CheckedCall {
    request: Arc<DispatchRequest>,
    tool: Arc<RegisteredTool>,
    arguments: Value,
    digest: Digest,
}

impl CheckedCall {
    pub(super) const fn request(&self) -> &Arc<DispatchRequest> {
        &self.request
    }

    pub(super) const fn tool(&self) -> &Arc<RegisteredTool> {
        &self.tool
    }

    pub(super) const fn arguments(&self) -> &Value {
        &self.arguments
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    /// The hash of these arguments in place of this call's.
    pub(super) fn digest_of(&self, arguments: &Value) -> Digest {
        let Self { request, tool, .. } = self;
        digest(tool.spec(), arguments, &request.user, &request.session, request.call.id)
    }

    /// The same call with arguments that the ledger has: they fit the schema that their digest names, and no other
    /// schema gives that digest.
    pub(super) fn with(self, arguments: Value) -> Self {
        Self { digest: self.digest_of(&arguments), arguments, ..self }
    }

    /// The same call with the arguments that the user typed.
    pub(super) fn edited(&self, typed: CheckedArguments) -> Self {
        Self {
            digest: self.digest_of(&typed.arguments),
            arguments: typed.arguments,
            request: self.request.clone(),
            tool: self.tool.clone(),
        }
    }

    /// Changes what would run behind everybody's back.
    #[cfg(test)]
    pub(super) fn plant(&mut self, arguments: Value) {
        self.arguments = arguments;
    }
}

/// Looks the tool up and validates the arguments; a refusal gives the request back with the outcome.
pub(super) fn check(
    request: Arc<DispatchRequest>,
    around: &Around,
) -> Result<CheckedCall, Box<(Arc<DispatchRequest>, ToolOutcome)>> {
    let name = &request.call.name;
    let tool = match around.registry.get(name) {
        Ok(tool) => tool.clone(),
        Err(error) => {
            warn!(call = %request.call.id, %error, "refused a call");
            let reason = Text::UnknownTool(name).in_locale(request.locale);
            return Err(Box::new((request, ToolOutcome::error("unknown_tool", reason))));
        }
    };
    let checked = match tool.check(&request.call.arguments, &around.limits) {
        Ok(checked) => checked,
        Err(problems) => {
            info!(call = %request.call.id, tool = %name, %problems, "refused a call");
            let reason =
                Text::BadArguments(&problems.in_locale(request.locale)).in_locale(request.locale);
            return Err(Box::new((request, ToolOutcome::error("validation", reason))));
        }
    };
    if !checked.removed.is_empty() {
        info!(call = %request.call.id, tool = %name, removed = ?checked.removed, "removed arguments that the schema does not know");
    }
    let digest =
        digest(tool.spec(), &checked.arguments, &request.user, &request.session, request.call.id);
    Ok(CheckedCall { request, tool, arguments: checked.arguments, digest })
}
