//! A registered tool used by itself: described, and shown to models in their forms.

use std::sync::Arc;

use madang_actors::{
    protocol::{EffectPolicy, Limits, ToolSpec},
    registry::{RegisteredTool, ToolRegistry},
};
use serde_json::json;

use crate::support::{Echo, echo};

fn read_file() -> ToolSpec {
    ToolSpec::new(
        "read_file",
        "Read the contents of a file",
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "File path" },
                "start_line": { "type": "integer" },
            },
            "required": ["path"],
        }),
    )
}

fn registered(tool: Echo) -> Arc<RegisteredTool> {
    let mut registry = ToolRegistry::new();
    registry.register(tool).unwrap();
    registry.iter().next().unwrap().clone()
}

#[test]
fn a_definition_has_all_its_attributes() {
    let spec = read_file()
        .category("files")
        .effect(EffectPolicy::Read)
        .idempotent()
        .timeout(std::time::Duration::from_secs(2))
        .max_concurrent(3)
        .narrower("read_lines");
    let tool = registered(echo(spec));
    let spec = tool.spec();
    assert_eq!((&*spec.name, &*spec.description), ("read_file", "Read the contents of a file"));
    assert_eq!(
        (&*spec.category, spec.effect, spec.is_idempotent),
        ("files", EffectPolicy::Read, true)
    );
    assert_eq!(spec.parameters["required"], json!(["path"]));
    assert_eq!(
        (spec.timeout, spec.max_concurrent),
        (Some(std::time::Duration::from_secs(2)), Some(3))
    );
    assert_eq!(spec.narrower.as_deref(), Some("read_lines"));
}

#[test]
fn what_is_not_said_of_a_tool_is_the_careful_choice() {
    let spec = read_file();
    assert_eq!(spec.effect, EffectPolicy::Destructive);
    assert!(!spec.is_idempotent);
    assert_eq!((spec.timeout, spec.max_concurrent, spec.narrower), (None, None, None));
}

#[test]
fn the_plain_form_has_name_description_and_parameters() {
    let spec = read_file();
    let plain = spec.to_plain();
    assert_eq!(
        plain.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["name", "description", "parameters"]
    );
    assert_eq!(plain["name"], json!("read_file"));
    assert_eq!(plain["parameters"], *spec.parameters);
}

#[test]
fn validate_tells_all_problems_and_what_it_would_run() {
    let tool = registered(echo(read_file()));
    let checked = tool.validate(json!({ "path": "x", "start_line": 3, "more": true })).unwrap();
    assert_eq!(checked.arguments, json!({ "path": "x", "start_line": 3 }));
    assert_eq!(checked.removed, ["/more"]);
    let problems = tool.validate(json!({ "path": 1, "start_line": 1.5 })).unwrap_err();
    assert_eq!(problems.as_slice().len(), 2);
    let raw = tool.check(r#"{"path":1,"start_line":1.5}"#, &Limits::default()).unwrap_err();
    assert_eq!(raw, problems);
}
