//! Decides whether a listed tool can become a tool of the runtime, and with which effect.

use madang::tool::{self, EffectPolicy, ToolOutcome, ToolRegistry, ToolSpec};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    entry::Entry,
    limits::{MAX_DESCRIPTION_BYTES, MAX_NAME_BYTES},
    list::ListedTool,
    name::{tool_name, word},
    schema,
    text::visible,
    tool_list::ToolList,
};

/// A tool that a server lists, and what it would be for the model, or why it cannot be offered.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) tool: ListedTool,
    pub(super) spec: Result<ToolSpec, String>,
}

/// Reads the tools of a list that the configuration does not exclude. Pinning, showing and offering
/// tools all begin here.
pub(super) fn candidates(entry: &Entry, list: &ToolList) -> Vec<Candidate> {
    let wanted = list.tools.iter().filter(|tool| !entry.exclude.contains(&tool.name));
    wanted.map(|tool| Candidate { tool: tool.clone(), spec: spec(entry, tool) }).collect()
}

/// Returns the SHA-256 of all that a server says of the tools that can be offered, as hexadecimal
/// digits. The order of the tools makes no difference.
pub(super) fn fingerprint(candidates: &[Candidate]) -> String {
    let known = candidates.iter().filter(|candidate| candidate.spec.is_ok());
    let mut prints: Vec<_> = known.map(|candidate| candidate.tool.fingerprint()).collect();
    prints.sort_unstable();
    Sha256::digest(prints.concat()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Describes a listed tool for the model. Returns why it is left out as an error.
fn spec(entry: &Entry, tool: &ListedTool) -> Result<ToolSpec, String> {
    if tool.name.is_empty() || tool.name.len() > MAX_NAME_BYTES {
        return Err(format!(
            "its name has {} bytes, and 1 to {MAX_NAME_BYTES} are taken",
            tool.name.len()
        ));
    }
    let described = visible(tool.description.as_deref().unwrap_or_default());
    if described.len() > MAX_DESCRIPTION_BYTES {
        let bytes = described.len();
        return Err(format!(
            "its description has {bytes} bytes, and at most {MAX_DESCRIPTION_BYTES} are taken"
        ));
    }
    let schema = schema::read(&tool.schema)?;
    let server = visible(&entry.name);
    let original = visible(&tool.name);
    let description = match &*described {
        "" => format!("The tool {original} of the MCP server {server}."),
        words => format!("(MCP server {server}) {words}"),
    };
    let name = tool_name(&entry.name, &tool.name);
    let spec = ToolSpec::new(name, description, schema)
        .category(word(&entry.name))
        .effect(effect(entry, tool))
        .timeout(entry.timeout);
    let is_idempotent = entry.is_trusted && tool.hint("idempotentHint") == Some(true);
    let spec = if is_idempotent { spec.idempotent() } else { spec };
    match refusal_of_registry(&spec) {
        Some(refusal) => Err(refusal),
        None => Ok(spec),
    }
}

/// Returns which effect a tool may have: the worst one, unless the configuration trusts the
/// server's annotations.
fn effect(entry: &Entry, tool: &ListedTool) -> EffectPolicy {
    let hints = (tool.hint("readOnlyHint"), tool.hint("destructiveHint"));
    match (entry.is_trusted, hints) {
        (true, (Some(true), _)) => EffectPolicy::Read,
        (true, (_, Some(false))) => EffectPolicy::Write,
        (true, _) | (false, _) => EffectPolicy::Destructive,
    }
}

/// Returns what the registry's own compiler finds wrong with a description.
fn refusal_of_registry(spec: &ToolSpec) -> Option<String> {
    let unused = tool::from_schema(spec.clone(), |_, _| async { Ok(ToolOutcome::ok(Value::Null)) });
    ToolRegistry::new().register(unused).err().map(|error| error.to_string())
}
