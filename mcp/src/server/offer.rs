//! Describes the runtime's tools as MCP tools, sorted by name, with hints from their effects.

use std::sync::Arc;

use madang::tool::{EffectPolicy, ToolRegistry, ToolSpec};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};

/// Returns all tools, sorted by name. A client can keep a list that stays the same.
pub(super) fn all(registry: &ToolRegistry) -> Vec<Tool> {
    sorted(registry.iter().map(|tool| tool.spec()))
}

fn sorted<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Vec<Tool> {
    let mut tools: Vec<_> = specs.map(tool).collect();
    tools.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    tools
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema = spec.parameters.as_object().cloned().unwrap_or_else(JsonObject::new);
    let hints = ToolAnnotations::new().idempotent(spec.is_idempotent);
    let hints = match spec.effect {
        EffectPolicy::Read => hints.read_only(true),
        EffectPolicy::Write => hints.read_only(false).destructive(false),
        EffectPolicy::Destructive => hints.read_only(false).destructive(true),
    };
    Tool::new(spec.name.to_string(), spec.description.to_string(), Arc::new(schema))
        .with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tools_are_sorted_and_have_their_schemas_as_they_are() {
        let schema = json!({ "type": "object", "properties": { "b": { "type": "integer" }, "a": {} }, "$comment": "kept" });
        let specs = ["b", "a_b", "a"].map(|name| ToolSpec::new(name, "Does.", schema.clone()));
        let tools = sorted(specs.iter());
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["a", "a_b", "b"]);
        let tool = serde_json::to_value(&tools[0]).unwrap();
        assert_eq!((&tool["description"], &tool["inputSchema"]), (&json!("Does."), &schema));
    }

    #[test]
    fn hints_follow_from_the_effect() {
        let hints = |effect, is_idempotent| -> Value {
            let spec = ToolSpec::new("t", "Does.", json!({ "type": "object" })).effect(effect);
            let spec = if is_idempotent { spec.idempotent() } else { spec };
            serde_json::to_value(tool(&spec).annotations).unwrap()
        };
        assert_eq!(
            hints(EffectPolicy::Read, false),
            json!({ "readOnlyHint": true, "idempotentHint": false })
        );
        assert_eq!(
            hints(EffectPolicy::Write, true),
            json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true })
        );
        assert_eq!(
            hints(EffectPolicy::Destructive, false),
            json!({ "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false })
        );
    }
}
