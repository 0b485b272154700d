//! The consequence in a question whose tool looks in the store before, cannot look, or does not
//! describe it.

use std::any::Any;

use serde_json::{Value, json};

use crate::{
    port::{Access, BoxFuture, Prepared, Tool, ToolContext, ToolFault, ToolResult},
    protocol::{Breach, Decision, EffectPolicy, Locale, MAX_BYTES, Text, ToolOutcome, ToolSpec},
    test_runtime::{TestRuntime, kind},
    testing::MemoryConnection,
};

/// Could tell from the store what it would do, and says nothing else of itself.
#[derive(Debug)]
struct Bare {
    spec: ToolSpec,
    would: Option<&'static str>,
}

impl Bare {
    fn new(would: Option<&'static str>) -> Self {
        let spec = ToolSpec::new("wipe", "Deletes pages.", json!({ "type": "object" }));
        Self { spec: spec.effect(EffectPolicy::Destructive), would }
    }
}

impl Tool for Bare {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn consequence_from<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        assert!(db.is::<MemoryConnection>(), "that of the store");
        let would = self.would.ok_or_else(|| ToolFault::rule("gone", "the page is gone"));
        Box::pin(async { Ok(Some(would?.to_owned())) })
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        _: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async { Ok(ToolOutcome::ok(arguments)) })
    }
}

/// The same, and says that it looks.
#[derive(Debug)]
struct Looks(Bare);

impl Tool for Looks {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn looks_before_asking(&self) -> bool {
        true
    }

    fn consequence_from<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        self.0.consequence_from(arguments, ctx, db)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        self.0.call(arguments, prepared, ctx, access)
    }
}

/// What the question about a call of this tool says that it will do.
async fn said(tool: impl Tool) -> String {
    let test = TestRuntime::of(tool).await;
    let mut call = test.begin("wipe", "{}").await;
    let request = call.approval_request().await;
    assert!(request.text.contains(&*request.consequence), "{}", request.text);
    test.decide(&request, Decision::Approve).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    test.at_rest().await;
    request.consequence.to_string()
}

#[tokio::test]
async fn a_tool_that_looks_before_it_is_asked_about_says_what_it_saw() {
    assert_eq!(said(Looks(Bare::new(Some("Deletes 3 pages.")))).await, "Deletes 3 pages.");
}

#[tokio::test]
async fn the_question_says_the_name_of_a_tool_that_cannot_look_or_does_not_say_it_does() {
    let general = Text::RunTool("wipe").in_locale(Locale::EN);
    assert_eq!(said(Looks(Bare::new(None))).await, general);
    assert_eq!(said(Bare::new(Some("Deletes 3 pages."))).await, general);
}

/// Deep in each other, short values take long lines.
#[tokio::test]
async fn arguments_that_no_question_can_show_are_refused_as_what_they_are() {
    let tool = crate::testing::FakeTool::destructive("mail");
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let levels = 60;
    let deep = format!("{}{}1{}", "[".repeat(levels), "1,".repeat(140_000), "]".repeat(levels));
    let end = test.call("mail", &format!("{{\"to\":{deep}}}")).await;
    assert_eq!((&*kind(&end), runs.count()), ("validation, None", 0), "{:?}", end.record.outcome);
    let breach = Text::Breach(&Breach::TooLong { max_bytes: MAX_BYTES }).in_locale(Locale::EN);
    let reason = Text::BadArguments(&breach).in_locale(Locale::EN);
    assert_eq!(end.record.outcome, Some(ToolOutcome::error("validation", reason)));
    test.at_rest().await;
}
