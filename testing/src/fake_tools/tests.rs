//! Tests the ends of fake tools.

use super::*;
use madang_actors::{
    port::SystemClock,
    protocol::{CallId, SessionId, UserId},
    registry::{Panicked, unwind},
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

/// Runs the handler; a panic is told as such.
async fn ended(tool: FakeTool) -> Result<ToolResult<ToolOutcome>, Panicked> {
    let ctx = context();
    unwind(tool.call(json!({ "a": 1 }), Prepared::default(), &ctx, Access::None)).await
}

#[tokio::test]
async fn a_fake_tool_ends_as_it_was_told() {
    let lock = Arc::new(Mutex::new(()));
    let look = async |end| ended(FakeTool::read("look").end(end)).await.unwrap();
    assert_eq!(look(End::Echo).await.unwrap(), ToolOutcome::ok(json!({ "a": 1 })));
    let own = ToolOutcome::error("own", "its own");
    assert_eq!(look(End::Give(own.clone())).await.unwrap(), own);
    let refused = look(End::Refuse("r", "no")).await;
    assert!(
        matches!(&refused, Err(ToolFault::Rule(rule)) if (&*rule.code, &*rule.reason) == ("r", "no")),
        "{refused:?}"
    );
    let failed = look(End::Fail(Fault::named("Disk"))).await;
    assert!(
        matches!(&failed, Err(ToolFault::Unexpected { fault, .. }) if fault.name() == "Disk"),
        "{failed:?}"
    );
    for end in [End::Panic("secret"), End::PanicWith(Payload), End::PanicHolding(lock.clone())] {
        assert!(ended(FakeTool::write("act").end(end)).await.is_err());
    }
    assert!(lock.is_poisoned());
}

#[tokio::test]
async fn a_handler_waits_at_its_gate() {
    let gate = Gate::new();
    let tool = FakeTool::write("act").gate(&gate);
    let runs = tool.runs();
    let waiting = tokio::spawn(ended(tool));
    gate.arrived(1).await;
    assert_eq!((runs.count(), waiting.is_finished()), (1, false));
    gate.release();
    let outcome = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(outcome, ToolOutcome::ok(json!({ "a": 1 })));
}

#[test]
fn a_custom_payload_reaches_its_catcher() {
    let caught = std::panic::catch_unwind(|| End::PanicWith(Payload).come(json!({})));
    assert!(caught.unwrap_err().is::<Payload>());
}
