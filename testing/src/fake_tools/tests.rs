//! Tests the ends of fake tools.

use super::*;
use madang_actors::{
    port::SystemClock,
    protocol::{CallId, SessionId, UserId},
    registry::ToolRegistry,
};
use uuid::Uuid;

fn context() -> ToolContext {
    ToolContext {
        session: SessionId::new("one").unwrap(),
        user: UserId::new("me").unwrap(),
        call: CallId::new(Uuid::nil()),
        locale: Locale::EN,
        time_zone: "UTC".into(),
        clock: Arc::new(SystemClock),
        cancelled: Default::default(),
        progress: Default::default(),
        extensions: Default::default(),
    }
}

async fn outcome(tool: FakeTool) -> String {
    let (name, mut registry) = (tool.spec.name.clone(), ToolRegistry::new());
    registry.register(tool).unwrap();
    let outcome = registry.get(&name).unwrap().call(json!({ "a": 1 }), &context()).await;
    serde_json::to_string(&outcome).unwrap()
}

#[tokio::test]
async fn a_fake_tool_ends_as_it_was_told() {
    let lock = Arc::new(Mutex::new(()));
    let ends = [
        (End::Echo, r#"{"status":"ok","data":{"a":1}}"#),
        (End::Refuse("r", "no"), r#"{"status":"error","code":"r","reason":"no"}"#),
        (
            End::Fail(Fault::named("Disk")),
            r#"{"status":"error","code":"handler_error","reason":"the tool failed: Disk"}"#,
        ),
    ];
    for (end, expected) in ends {
        assert_eq!(outcome(FakeTool::read("look").end(end)).await, expected);
    }
    for end in [End::Panic("secret"), End::PanicWith(Payload), End::PanicHolding(lock.clone())] {
        let expected =
            r#"{"status":"error","code":"handler_error","reason":"the tool failed: Panic"}"#;
        assert_eq!(outcome(FakeTool::write("act").end(end)).await, expected);
    }
    assert!(lock.is_poisoned());
}

#[tokio::test]
async fn a_handler_waits_at_its_gate() {
    let gate = Gate::new();
    let tool = FakeTool::write("act").gate(&gate);
    let runs = tool.runs();
    let waiting = tokio::spawn(outcome(tool));
    gate.arrived(1).await;
    assert_eq!((runs.count(), waiting.is_finished()), (1, false));
    gate.release();
    assert_eq!(waiting.await.unwrap(), r#"{"status":"ok","data":{"a":1}}"#);
}

#[test]
fn a_custom_payload_reaches_its_catcher() {
    let caught = std::panic::catch_unwind(|| End::PanicWith(Payload).come(json!({})));
    assert!(caught.unwrap_err().is::<Payload>());
}
