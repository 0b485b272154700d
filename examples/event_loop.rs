//! Madang beside an event loop that owns the main thread, as in a desktop program: commands go in, events come back.
//! The runtime lives on threads of its own; it takes no signal, no logger and not the main thread.

#![expect(
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "an example talks to its reader, and shows some events of all"
)]

use std::{error::Error, sync::Arc, sync::mpsc as event_loop, thread};

use madang::approval::{ApprovalRequest, Decision};
use madang::event::{EventKind, SessionEvent, StreamItem};
use madang::{Runtime, block_on};
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use tokio::sync::mpsc;

type Failure = Box<dyn Error + Send + Sync>;
/// What the program's loop receives: what has happened, or why nothing will.
type News = Result<Arc<SessionEvent>, Failure>;

enum Command {
    Ask(&'static str),
    Answer(Box<ApprovalRequest>, Decision),
}

async fn serve(
    mut commands: mpsc::UnboundedReceiver<Command>,
    news: event_loop::Sender<News>,
) -> Result<(), Failure> {
    let asks = ScriptedCompletion::call("delete_note", &serde_json::json!({}));
    let model = ScriptedModel::new([asks, ScriptedCompletion::text("It is gone.")]);
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    let runtime = builder.tool(FakeTool::destructive("delete_note")).start().await?;
    let session = runtime.session("kim", "window-1").await?;
    let (mut items, told) = (session.subscribe(), news.clone());
    tokio::spawn(async move {
        while let Some(item) = items.next().await {
            let StreamItem::Event(event) = item else { continue }; // streaming text is not shown
            drop(told.send(Ok(event)));
        }
    });
    while let Some(command) = commands.recv().await {
        let done = match command {
            Command::Ask(text) => session.send(text).await.map(drop).map_err(Failure::from),
            Command::Answer(to, how) => session.decide(&to, how).await.map_err(Failure::from),
        };
        if let Err(refused) = done {
            drop(news.send(Err(refused)));
        }
    }
    Ok(runtime.shutdown().await?) // what runs finishes and commits, and the store is closed last
}

fn main() -> Result<(), Failure> {
    let (told, news) = event_loop::channel();
    let (commands, wanted) = mpsc::unbounded_channel();
    let beside = thread::spawn(move || block_on(serve(wanted, told))?);
    commands.send(Command::Ask("delete my note"))?;
    for news in news {
        match &news?.kind {
            EventKind::ApprovalRequested { request } => {
                println!("{}", request.text);
                commands.send(Command::Answer(request.clone().into(), Decision::Approve))?;
            }
            EventKind::ModelMessage { text, .. } => println!("{text}"),
            EventKind::TurnEnded { .. } => break,
            _ => {}
        }
    }
    drop(commands); // the window is closed
    beside.join().map_err(|_| "the chat's thread panicked")?
}
