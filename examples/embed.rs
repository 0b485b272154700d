//! Madang in an application: a tool that asks before it writes, over a scripted model and a store
//! in memory.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use madang::event::{EventKind, StreamItem};
use madang::tool::{self, ToolContext, ToolResult};
use madang::{Runtime, approval::Decision};
use madang_testing::{MemoryConnection, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

/// Writes in the transaction in which its call is recorded: after a crash both are there, or
/// neither.
async fn add(note: Note, db: &mut MemoryConnection, ctx: &ToolContext) -> ToolResult<Value> {
    db.put(ctx.call.to_string(), json!(note.text))?;
    Ok(json!({ "added": note.text }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asks = ScriptedCompletion::call("add_note", &json!({ "text": "buy milk" }));
    let model = ScriptedModel::new([asks, ScriptedCompletion::text("I wrote that down.")]);
    let store = MemoryStore::new();
    let builder = Runtime::builder().model(model).store(store.clone());
    let add_note = tool::transactional("add_note", "Writes a note.", add);
    let runtime = builder.tool(add_note).start().await?;

    let session = runtime.user("kim")?.session("chat-1").await?;
    let mut events = session.send("remind me to buy milk").await?.events();
    while let Some(item) = events.next().await {
        let StreamItem::Event(event) = item else { continue };
        println!("{}", serde_json::to_string(&*event)?);
        if let EventKind::ApprovalRequested { request } = &event.kind {
            session.decide(request, Decision::Approve).await?;
        }
    }
    println!("notes: {:?}", store.connection().values());
    Ok(runtime.shutdown().await?)
}
