//! Madang beside an event loop that owns the main thread, as in a desktop program: commands go in, events come back.
//! The runtime lives on threads of its own; it takes no signal, no logger and not the main thread.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{error::Error, sync::Arc, sync::mpsc as event_loop, thread};

use madang::{
    Locale, Runtime,
    approval::{Decision, Question},
    event::{EventKind, SessionEvent, StreamItem},
};
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::json;
use tokio::sync::mpsc;

type Failure = Box<dyn Error + Send + Sync>;

enum Command {
    Ask(String),
    Answer(Box<Question>, Decision),
    Quit,
}

/// What the program's loop hears of it: what has happened, or why nothing will.
type News = Result<Arc<SessionEvent>, Failure>;

async fn serve(
    mut commands: mpsc::UnboundedReceiver<Command>,
    news: event_loop::Sender<News>,
) -> Result<(), Failure> {
    let asks = ScriptedCompletion::call("delete_note", &json!({}));
    let model = ScriptedModel::new([asks, ScriptedCompletion::text("It is gone.")]);
    let builder = Runtime::builder().model(model).store(MemoryStore::new()).locale(Locale::En);
    let runtime = builder.tool(FakeTool::destructive("delete_note")).start().await?;
    let session = runtime.session("kim", "window-1").await?;
    let (mut events, told) = (session.subscribe(), news.clone());
    tokio::spawn(async move {
        while let Some(item) = events.next().await {
            // Streaming text comes as items of its own, which this program does not show.
            let StreamItem::Event(event) = item else { continue };
            drop(told.send(Ok(event)));
        }
    });
    while let Some(command) = commands.recv().await {
        let done = match command {
            Command::Ask(text) => session.send(text).await.map(drop).map_err(Failure::from),
            Command::Answer(to, how) => session.answer(&to, how).await.map_err(Failure::from),
            Command::Quit => break,
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
    let beside = thread::spawn(move || {
        let tokio = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
        tokio.block_on(serve(wanted, told))
    });
    commands.send(Command::Ask("delete my note".into()))?;
    // The program's own loop; here it ends when the chat is closed and nobody is left to tell it anything.
    for news in news {
        match news {
            Err(why) => println!("refused: {why}"),
            Ok(event) => {
                if let EventKind::ConfirmationAsked { question } = &event.kind {
                    println!("{}", question.text);
                    commands.send(Command::Answer(question.clone().into(), Decision::Approve))?;
                } else if let EventKind::ModelMessage { text, .. } = &event.kind {
                    println!("{text}");
                } else if let EventKind::TurnEnded { .. } = &event.kind {
                    commands.send(Command::Quit)?;
                }
            }
        }
    }
    beside.join().map_err(|_| "the chat's thread panicked")?
}
