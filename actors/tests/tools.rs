//! A registered tool used by itself: described, validated, called, and never a panic.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod support;

use std::{io, sync::Arc};

use madang_actors::{
    port::{Access, ConnectionType, Need, ToolFault},
    protocol::{CancelReason, EffectPolicy, Fault, Limits, Locale, ToolOutcome, ToolSpec},
    registry::{CallError, NeedsConnection, RegisteredTool, ToolRegistry},
};
use serde_json::{Value, json};
use support::{HandMade, context, echo, needing, spec, tool};

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

fn registered(tool: HandMade) -> Arc<RegisteredTool> {
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

#[tokio::test]
async fn call_runs_the_handler_and_gives_its_outcome() {
    let read = registered(tool(read_file(), |arguments, ctx| {
        Ok(ToolOutcome::ok(json!({ "path": arguments["path"], "for": ctx.user.as_str() })))
    }));
    let outcome = read.call(json!({ "path": "src/main.rs" }), &context(Locale::KO)).await;
    assert_eq!(outcome, ToolOutcome::ok(json!({ "path": "src/main.rs", "for": "user" })));
}

#[tokio::test]
async fn a_failing_handler_gives_an_error_outcome_that_names_the_type_only() {
    for (fault, told) in [(Fault::default(), "Error"), (Fault::named("Disk"), "Disk")] {
        let fails = registered(tool(read_file(), move |_, _| {
            Err(ToolFault::unexpected(fault.clone(), "no such file: /home/mina/secret"))
        }));
        let outcome = fails.call(json!({ "path": "x" }), &context(Locale::KO)).await;
        assert_eq!(outcome, ToolOutcome::error("handler_error", format!("도구 실행 실패: {told}")));
    }
    let question_mark = registered(tool(read_file(), |_, _| Err(io::Error::other("secret"))?));
    let outcome = question_mark.call(json!({ "path": "x" }), &context(Locale::EN)).await;
    assert_eq!(outcome, ToolOutcome::error("handler_error", "the tool failed: Error"));
    let ran = question_mark.run(json!({ "path": "x" }), &context(Locale::EN)).await;
    let Err(CallError::Execution(execution)) = ran else { panic!("{ran:?}") };
    assert_eq!(execution.to_string(), "failed to run the tool read_file: Error");
    assert_eq!(std::error::Error::source(&execution).unwrap().to_string(), "secret");
    assert!(!format!("{execution:?}").contains("secret"));
}

#[tokio::test]
async fn a_rule_found_broken_and_a_cancellation_are_outcomes_unchanged() {
    let rule =
        registered(tool(read_file(), |_, _| Err(ToolFault::rule("r3_quota", "이미 셋입니다"))));
    let outcome = rule.call(json!({ "path": "x" }), &context(Locale::KO)).await;
    assert_eq!(outcome, ToolOutcome::error("r3_quota", "이미 셋입니다"));
    let cancelled =
        registered(tool(read_file(), |_, _| Ok(ToolOutcome::cancelled(CancelReason::Denied))));
    let outcome = cancelled.call(json!({ "path": "x" }), &context(Locale::KO)).await;
    assert_eq!(outcome, ToolOutcome::cancelled(CancelReason::Denied));
}

#[tokio::test]
async fn a_validation_failure_is_an_error_outcome_and_the_handler_is_not_run() {
    let read = registered(tool(read_file(), |_, _| panic!("it was run")));
    let outcome = read.call(json!({ "start_line": "one" }), &context(Locale::KO)).await;
    assert_eq!(outcome.code(), Some("validation"));
    let reason = outcome.to_string();
    assert!(reason.starts_with("인자 오류: "), "{reason}");
    assert!(
        reason.contains("/path: 꼭 있어야 합니다") && reason.contains("/start_line: integer 형식"),
        "{reason}"
    );
    for not_an_object in [json!(null), json!([]), json!("path")] {
        let outcome = read.call(not_an_object, &context(Locale::EN)).await;
        assert_eq!(
            outcome,
            ToolOutcome::error("validation", "invalid arguments: must be a JSON object")
        );
    }
    let ran = read.run(json!({}), &context(Locale::EN)).await;
    assert!(matches!(ran, Err(CallError::Validation(problems)) if problems.as_slice().len() == 1));
}

#[tokio::test]
async fn a_panicking_handler_gives_an_error_outcome() {
    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("the payload's drop");
        }
    }
    let panics: [fn(); 3] = [
        || panic!("secret"),
        || std::panic::panic_any(42_u8),
        || std::panic::panic_any(PanicsWhenDropped),
    ];
    for panics in panics {
        let tool = registered(tool(spec("probe"), move |_, _| {
            panics();
            Ok(ToolOutcome::ok(Value::Null))
        }));
        let outcome = tool.call(json!({}), &context(Locale::KO)).await;
        assert_eq!(outcome, ToolOutcome::error("handler_error", "도구 실행 실패: Panic"));
    }
}

#[tokio::test]
async fn a_tool_that_needs_a_connection_runs_on_the_callers_own_and_on_no_other() {
    let tool = registered(needing::<String>(read_file()));
    let (arguments, ctx) = (json!({ "path": "x" }), context(Locale::EN));
    let outcome = tool.call(arguments.clone(), &ctx).await;
    assert_eq!(outcome, ToolOutcome::error("handler_error", "the tool failed: Error"));
    let mut lent = "a connection".to_owned();
    for access in [Access::None, Access::Read(&mut lent)] {
        let refused = tool.run_on(arguments.clone(), &ctx, access).await.unwrap_err();
        let CallError::Connection(NeedsConnection { need, .. }) = &refused else {
            panic!("it ran: {refused:?}")
        };
        assert_eq!(*need, Need::Transaction(ConnectionType::of::<String>()));
        let told = "tool read_file needs a connection to write (alloc::string::String)";
        assert_eq!(refused.to_string(), told);
    }
    let ran = tool.run_on(arguments.clone(), &ctx, Access::Transaction(&mut lent)).await;
    assert_eq!(ran.unwrap(), ToolOutcome::ok(arguments));
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
