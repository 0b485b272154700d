//! Needs arguments: PROVIDER MODEL TEXT. A model of another server answers, and no C++ is compiled:
//! `cargo run --no-default-features --features remote,sqlite --example remote -- ollama qwen3:4b
//! "Good day!"`. The key is read from the usual variable of the provider, such as
//! `ANTHROPIC_API_KEY`.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{
    env,
    error::Error,
    io::{Write as _, stdout},
};

use madang::event::{EventKind, StreamItem};
use madang::model::remote::{RemoteModel, RemoteOptions};
use madang::{Runtime, store::SqliteStore};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [provider, model, text] = &arguments[..] else {
        return Err("usage: remote PROVIDER MODEL TEXT".into());
    };
    let model = RemoteModel::new(RemoteOptions::new(provider.parse()?, model).key_from_env())?;
    let store = SqliteStore::in_memory().await?;
    let runtime = Runtime::builder().model(model).store(store).start().await?;

    let session = runtime.user("kim")?.session("chat-1").await?;
    let turn = session.send(text.as_str()).await?;
    let mut events = turn.events();
    while let Some(item) = events.next().await {
        match item {
            StreamItem::Text { text, .. } => print!("{text}"),
            StreamItem::Event(event) => {
                if let EventKind::Error { text, .. } = &event.kind {
                    print!("{text}");
                }
            }
            _ => {}
        }
        stdout().flush()?;
    }
    println!("\n{:?}", turn.outcome().await?.usage);
    Ok(runtime.shutdown().await?)
}
