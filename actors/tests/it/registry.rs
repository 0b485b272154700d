//! The registry keeps its word: registration, lookup, exports.

use std::sync::Arc;

use madang_actors::{
    port::Tool,
    protocol::{SpecError, ToolSpec},
    registry::{DuplicateTool, RegistryError, ToolNotFound, ToolRegistry},
};
use madang_testing::Logs;
use serde_json::json;
use tracing::Level;

use crate::support::{echo, spec, with_schema};

fn many(count: usize) -> Vec<Arc<dyn Tool>> {
    (0..count).map(|n| Arc::new(echo(spec(&format!("tool_{n}")))) as Arc<dyn Tool>).collect()
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    registry.names().iter().map(ToString::to_string).collect()
}

#[test]
fn tools_are_registered_and_retrieved() {
    let mut registry = ToolRegistry::new();
    registry.register(echo(spec("read_file"))).unwrap();
    let tool = registry.get("read_file").unwrap();
    assert_eq!(&*tool.spec().name, "read_file");
    assert_eq!(tool.tool().spec(), tool.spec());
    assert!(registry.has("read_file") && !registry.has("write_file"));
    assert_eq!(names(&registry), ["read_file"]);
}

#[test]
fn a_duplicate_registration_is_an_error_and_the_first_tool_stays() {
    let mut registry = ToolRegistry::new();
    registry
        .register(echo(ToolSpec::new("ping", "The first.", json!({ "type": "object" }))))
        .unwrap();
    let refused = registry.register(echo(spec("ping"))).unwrap_err();
    assert!(
        matches!(&refused, RegistryError::Duplicate(DuplicateTool { name }) if &**name == "ping"),
        "{refused}"
    );
    assert_eq!(refused.to_string(), "a tool named ping is already registered");
    assert_eq!(registry.len(), 1);
    assert_eq!(&*registry.get("ping").unwrap().spec().description, "The first.");
}

#[test]
fn an_unknown_tool_lookup_is_an_error() {
    let mut registry = ToolRegistry::new();
    assert_eq!(registry.get("ping").unwrap_err(), ToolNotFound { name: "ping".into() });
    registry.register(echo(spec("ping"))).unwrap();
    for name in ["", "Ping", "ping ", "pin", "ping\0"] {
        assert_eq!(registry.get(name).unwrap_err(), ToolNotFound { name: name.into() });
    }
    assert_eq!(registry.get("핑").unwrap_err().to_string(), "no tool named \"핑\" is registered");
}

#[test]
fn specs_are_plain_values_of_name_description_and_parameters() {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let mut registry = ToolRegistry::new();
    let read_file =
        ToolSpec::new("read_file", "Reads a file.", parameters.clone()).category("files");
    registry.register(echo(read_file)).unwrap().register(echo(spec("ping"))).unwrap();
    assert_eq!(
        registry.specs(),
        [
            json!({ "name": "read_file", "description": "Reads a file.", "parameters": parameters }),
            json!({ "name": "ping", "description": "Does something.", "parameters": { "type": "object" } }),
        ]
    );
}

#[test]
fn the_exports_have_the_forms_of_openai_and_anthropic() {
    let mut registry = ToolRegistry::new();
    registry.register(echo(spec("ping"))).unwrap();
    assert_eq!(
        registry.to_openai(),
        [json!({
            "type": "function",
            "function": { "name": "ping", "description": "Does something.", "parameters": { "type": "object" } },
        })]
    );
    assert_eq!(
        registry.to_anthropic(),
        [
            json!({ "name": "ping", "description": "Does something.", "input_schema": { "type": "object" } })
        ]
    );
}

#[test]
fn len_and_is_empty_tell_how_many_tools_there_are() {
    let mut registry = ToolRegistry::new();
    assert!(registry.is_empty());
    assert_eq!(registry.len(), 0);
    registry.register_all(many(3)).unwrap();
    assert!(!registry.is_empty());
    assert_eq!(registry.len(), 3);
    assert_eq!(registry.iter().count(), 3);
    assert_eq!((&registry).into_iter().count(), 3);
}

#[test]
fn registering_chains() {
    let mut registry = ToolRegistry::new();
    registry.register(echo(spec("a"))).unwrap().register(echo(spec("b"))).unwrap();
    assert_eq!(names(&registry), ["a", "b"]);
}

#[test]
fn tools_keep_the_order_of_their_registration() {
    let mut registry = ToolRegistry::new();
    for name in ["zebra", "ant", "mole", "bee"] {
        registry.register(echo(spec(name))).unwrap();
    }
    assert_eq!(names(&registry), ["zebra", "ant", "mole", "bee"]);
}

#[test]
fn registering_18_tools_logs_the_count() {
    let logs = Logs::keep(Level::INFO);
    let mut registry = ToolRegistry::new();
    registry.register_all(many(18)).unwrap();
    assert_eq!(registry.len(), 18);
    let logged = logs.text();
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(logged.starts_with(" INFO"), "{logged}");
    assert!(logged.ends_with(": registered tools added=18 count=18\n"), "{logged}");
}

#[test]
fn register_all_adds_all_or_none() {
    let mut registry = ToolRegistry::new();
    registry.register(echo(spec("tool_1"))).unwrap();
    assert!(matches!(registry.register_all(many(3)), Err(RegistryError::Duplicate(_))));
    assert_eq!(names(&registry), ["tool_1"]);

    let twice: Vec<Arc<dyn Tool>> = vec![Arc::new(echo(spec("a"))), Arc::new(echo(spec("a")))];
    assert!(matches!(registry.register_all(twice), Err(RegistryError::Duplicate(_))));
    let wrong: Vec<Arc<dyn Tool>> =
        vec![Arc::new(echo(spec("a"))), Arc::new(echo(spec("Not Snake")))];
    assert!(matches!(registry.register_all(wrong), Err(RegistryError::Spec(SpecError::Name(_)))));
    assert_eq!(names(&registry), ["tool_1"]);
}

#[test]
fn an_invalid_description_is_refused_with_what_is_wrong() {
    let object = || json!({ "type": "object" });
    for name in ["", "A", "1a", "_a", "a-b", "a b", "도구", "a\n"] {
        let refused =
            ToolRegistry::new().register(echo(ToolSpec::new(name, "x", object()))).unwrap_err();
        assert!(matches!(refused, RegistryError::Spec(SpecError::Name(_))), "{name:?}: {refused}");
    }
    for name in ["a", "a1", "a_b", "create_page_with_blocks", "a__"] {
        ToolRegistry::new().register(echo(ToolSpec::new(name, "x", object()))).unwrap();
    }
    for description in ["", " \n"] {
        let refused = ToolRegistry::new()
            .register(echo(ToolSpec::new("a", description, object())))
            .unwrap_err();
        assert!(matches!(refused, RegistryError::Spec(SpecError::Description(_))));
    }
    for parameters in [
        json!({}),
        json!(true),
        json!(null),
        json!({ "type": "array" }),
        json!({ "type": ["object"] }),
    ] {
        let refused = ToolRegistry::new().register(with_schema(parameters)).unwrap_err();
        assert!(matches!(refused, RegistryError::Spec(SpecError::NotAnObject(_))));
    }
    let refused = ToolRegistry::new()
        .register(with_schema(
            json!({ "type": "object", "properties": { "a": { "type": "strnig" } } }),
        ))
        .unwrap_err();
    assert!(matches!(refused, RegistryError::Spec(SpecError::Schema { .. })));
    assert!(refused.to_string().contains("/properties/a/type"), "{refused}");
}

#[test]
fn a_filled_registry_is_read_by_many_threads_at_once() {
    let mut registry = ToolRegistry::new();
    registry.register_all(many(18)).unwrap();
    let registry = &registry;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for n in 0..1_000 {
                    let name = format!("tool_{}", n % 18);
                    let tool = registry.get(&name).unwrap();
                    assert_eq!(
                        tool.validate(json!({ "n": n })).unwrap().arguments,
                        json!({ "n": n })
                    );
                }
            });
        }
    });
}
