//! Madang in an application: a store in memory, a scripted model, one tool that asks before it writes.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;

use madang::{
    Runtime,
    approval::Decision,
    event::{EventKind, StreamItem},
    tool::{self, ToolContext, ToolResult},
};
use madang_testing::{MemoryConnection, MemoryStore, ScriptedCompletion, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct AddNote {
    /// What the note says.
    #[schemars(length(min = 1, max = 200))]
    text: String,
}

/// Writes in the transaction in which its call is recorded: after a crash both are there, or neither.
async fn add_note(
    note: AddNote,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    db.put(format!("{}/{}", ctx.user, ctx.call), json!(note.text))?;
    Ok(json!({ "added": note.text }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new([
        ScriptedCompletion::call("add_note", &json!({ "text": "buy milk" })),
        ScriptedCompletion::text("I wrote that down."),
    ]);
    let store = MemoryStore::new();
    let runtime = Runtime::builder()
        .model(model)
        .store(store.clone())
        .tool(tool::transactional("add_note", "Writes a note.", add_note))
        .start()
        .await?;

    let session = runtime.session("kim", "chat-1").await?;
    let mut events = session.send("remind me to buy milk").await?.events();
    while let Some(item) = events.next().await {
        let StreamItem::Event(event) = item else { continue };
        println!("{}", serde_json::to_string(&*event)?);
        if let EventKind::ConfirmationAsked { question } = &event.kind {
            session.answer(question, Decision::Approve).await?;
        }
    }
    println!("notes: {:?}", store.connection().values());
    Ok(runtime.shutdown().await?)
}
