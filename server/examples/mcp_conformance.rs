//! Tools with the names that the conformance suite of MCP calls, over HTTP and without a token.
//! Serves until it is stopped: the first line that it prints names the address.
//!
//! The suite sends no credential and knows only its own names, so it cannot ask the program. Only
//! tests use this.

#![expect(clippy::print_stdout, reason = "the suite reads the address")]

use std::time::Duration;

use madang::{
    Runtime, UserId,
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolOutcome, ToolProgress, ToolResult},
};
use madang_server::{Listener, Server, ServerLimits, ServerOptions};
use madang_testing::{End, FakeTool, MemoryStore, ScriptedModel};
use serde_json::{Value, json};

/// Tools that give a text.
const TEXTS: [&str; 1] = ["test_simple_text"];
/// Tools that a person must confirm.
const ASKS: [&str; 6] = [
    "test_elicitation",
    "test_streaming_elicitation",
    "test_missing_capability",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
];

async fn walk(_: NoArguments, ctx: &ToolContext) -> ToolResult<Value> {
    for done in [0.0, 50.0, 100.0] {
        ctx.progress.report(ToolProgress::new(done).out_of(100.0));
        // Longer than the pause between two reports that are passed on.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(json!({ "steps": 3 }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = || ToolOutcome::ok(json!({ "text": "This is a simple text response." }));
    let mut builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
    for name in TEXTS {
        builder = builder.tool(FakeTool::read(name).end(End::Give(text())));
    }
    for name in ASKS {
        builder = builder.tool(FakeTool::destructive(name).end(End::Give(text())));
    }
    let fails = FakeTool::read("test_error_handling");
    builder = builder.tool(fails.end(End::Refuse("refused", "This tool always fails.")));
    let walks = tool::plain("test_tool_with_progress", "Reports three steps.", walk);
    let runtime = builder.tool(walks.effect(EffectPolicy::Read)).start().await?;
    let mut limits = ServerLimits::default();
    // The suite asks faster than a person's programs do.
    (limits.requests_per_second, limits.request_burst) = (10_000, 10_000);
    let options = ServerOptions::default().open(UserId::new("suite")?).limits(limits);
    let server = Server::new(runtime, options)?;
    let listener = Listener::bind(&"127.0.0.1:0".parse()?).await?;
    println!("listening {}", listener.address());
    server.serve(vec![listener], std::future::pending()).await?;
    Ok(())
}
