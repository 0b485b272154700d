//! Decides whether a listed tool becomes a tool of the runtime, and with which effect. Pure.

use madang::tool::{self, EffectPolicy, ToolOutcome, ToolRegistry, ToolSpec};
use serde_json::Value;

use super::{
    entry::Entry,
    limits::{MAX_DESCRIPTION_BYTES, MAX_NAME_BYTES},
    list::ListedTool,
    name::{tool_name, word},
    schema,
    text::visible,
};

/// Describes a listed tool for the model, or says why it is left out.
pub(super) fn spec(entry: &Entry, tool: &ListedTool) -> Result<ToolSpec, String> {
    if tool.name.is_empty() || tool.name.len() > MAX_NAME_BYTES {
        return Err(format!(
            "its name has {} bytes, and 1 to {MAX_NAME_BYTES} are taken",
            tool.name.len()
        ));
    }
    let described = tool.description.as_deref().unwrap_or_default();
    if described.len() > MAX_DESCRIPTION_BYTES {
        let bytes = described.len();
        return Err(format!(
            "its description has {bytes} bytes, and at most {MAX_DESCRIPTION_BYTES} are taken"
        ));
    }
    if let Some(refusal) = schema::refusal(&tool.schema) {
        return Err(refusal);
    }
    let (server, original) = (visible(&entry.name), visible(&tool.name));
    let description = match described {
        "" => format!("The tool {original} of the MCP server {server}."),
        words => format!("(MCP server {server}) {}", visible(words)),
    };
    let name = tool_name(&entry.name, &tool.name);
    let spec = ToolSpec::new(name, description, tool.schema.clone())
        .category(word(&entry.name))
        .effect(effect(entry, tool))
        .timeout(entry.timeout);
    let is_idempotent = entry.is_trusted && tool.hint("idempotentHint") == Some(true);
    Ok(if is_idempotent { spec.idempotent() } else { spec })
}

/// Tells which effect a tool may have: the worst, unless the configuration lets the server's own word count.
pub(super) fn effect(entry: &Entry, tool: &ListedTool) -> EffectPolicy {
    let hints = (tool.hint("readOnlyHint"), tool.hint("destructiveHint"));
    match (entry.is_trusted, hints) {
        (true, (Some(true), _)) => EffectPolicy::Read,
        (true, (_, Some(false))) => EffectPolicy::Write,
        (true, _) | (false, _) => EffectPolicy::Destructive,
    }
}

/// Lets the registry's own compiler say what is wrong with a description.
pub(super) fn refusal_of_registry(spec: &ToolSpec) -> Option<String> {
    let unused = tool::from_schema(spec.clone(), |_, _| async { Ok(ToolOutcome::ok(Value::Null)) });
    ToolRegistry::new().register(unused).err().map(|error| error.to_string())
}
