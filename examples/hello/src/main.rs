//! The smallest program: a model of its own in one line, a chat, and an answer. Its package depends
//! on `madang` alone.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use madang::{Runtime, block_on, model, store::SqliteStore};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    block_on(async {
        let parrot = model::from_fn("parrot", async |request, _| {
            Ok(model::Completion::text(format!("You said: {}", request.last_user_text())))
        });
        let store = SqliteStore::in_memory().await?;
        let runtime = Runtime::builder().model(parrot).store(store).start().await?;
        let session = runtime.user("kim")?.session("chat-1").await?;
        println!("{}", session.send("Good day!").await?.text().await?);
        Ok(runtime.shutdown().await?)
    })?
}
