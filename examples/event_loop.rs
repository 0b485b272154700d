//! Madang beside an event loop that owns the main thread, as in a desktop program. The runtime
//! lives on threads of its own; it takes no signal and no logger. The loop asks the session and
//! waits until that is stored; events come by a channel.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{error::Error, sync::mpsc};

use madang::event::{EventKind, StreamItem};
use madang::{Runtime, Session, approval::Decision};
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};

async fn open() -> Result<(Runtime, Session), Box<dyn Error>> {
    let asks = ScriptedCompletion::call("delete_note", &serde_json::json!({}));
    let model = ScriptedModel::new([asks, ScriptedCompletion::text("It is gone.")]);
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    let runtime = builder.tool(FakeTool::destructive("delete_note")).start().await?;
    let session = runtime.user("kim")?.session("window-1").await?;
    Ok((runtime, session))
}

fn main() -> Result<(), Box<dyn Error>> {
    let threads = tokio::runtime::Runtime::new()?;
    let (runtime, session) = threads.block_on(open())?;
    let (told, events) = mpsc::channel(); // a desktop program posts to its own queue instead
    let turn = threads.block_on(session.send("delete my note"))?; // waits until the text is stored
    let mut items = turn.events(); // they end with the turn, and so does the loop below
    threads.spawn(async move {
        while let Some(item) = items.next().await {
            let StreamItem::Event(event) = item else { continue }; // streaming text is not shown
            let Ok(()) = told.send(event) else { break };
        }
    });
    for event in events {
        if let EventKind::ApprovalRequested { request } = &event.kind {
            println!("{}", request.text);
            threads.block_on(session.decide(request, Decision::Approve))?;
        } else if let EventKind::ModelMessage { text, .. } = &event.kind {
            println!("{text}");
        } else if let EventKind::Error { text, .. } = &event.kind {
            println!("{text}");
        }
    }
    Ok(threads.block_on(runtime.shutdown())?) // what runs finishes and commits, and the store is closed last
}
