//! What a runtime carries: whole turns a second of 256 sessions at once, with one tool each and a
//! model that answers at once. Durable turns wait for SQLite at FULL; volatile ones are kept in
//! memory.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

mod notes;

use cpu_time::ProcessTime;
use madang::{
    Runtime,
    event::TurnEnding,
    store::{SqliteStore, Store},
    tool::{self, EffectPolicy, NoArguments, Tool, ToolContext, ToolResult},
};
use madang_testing::{MemoryConnection, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use sqlx::SqliteConnection;
use tokio::{task::JoinSet, time::Instant};

use notes::NOTES;

const CHATS: usize = 256;

/// As a server would: the system's own spends a third of a turn where its threads meet.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    // `cargo test` runs benches too, to see that they work: once is enough then.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let only = arguments.find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let turns = |count| if is_test { 1 } else { count };
    println!("{:<32} {:>10} {:>14} {:>14}", "256 sessions", "turns/s", "cpu a turn", "cores busy");
    if "durable".contains(&only) {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteStore::open(folder.path().join("turns.db"));
        let store = options.migrations("notes", &NOTES).await.unwrap();
        let note = tool::transactional("note", "Notes.", note_in_sqlite);
        carry("durable (SQLite at FULL)", store, note.effect(EffectPolicy::Write), turns(40)).await;
    }
    if "volatile".contains(&only) {
        let note = tool::transactional("note", "Notes.", note_in_memory);
        let note = note.effect(EffectPolicy::Write);
        carry("volatile (memory store)", MemoryStore::new(), note, turns(100)).await;
    }
}

async fn carry(name: &str, store: impl Store, note: impl Tool, turns: usize) {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call("note", &json!({})),
        ScriptedCompletion::text("Noted."),
    ]);
    let runtime = Runtime::builder().model(model).store(store).tool(note).start().await.unwrap();
    let mut chats = JoinSet::new();
    let cpu = ProcessTime::now();
    let begun = Instant::now();
    for chat in 0..CHATS {
        let runtime = runtime.clone();
        chats.spawn(async move {
            let session =
                runtime.user("kim").unwrap().session(&format!("chat {chat}")).await.unwrap();
            for _ in 0..turns {
                let end = session.send("note it").await.unwrap().ended().await.unwrap();
                assert_eq!(end.ending, TurnEnding::Answered);
            }
        });
    }
    chats.join_all().await;
    let cpu = cpu.elapsed().as_secs_f64();
    let time = begun.elapsed().as_secs_f64();
    let all = (CHATS * turns) as f64;
    let rate = all / time;
    let each = cpu * 1e6 / all;
    let busy = cpu / time;
    println!("{name:<32} {rate:>10.0} {each:>11.1} us {busy:>14.2}");
    runtime.shutdown().await.unwrap();
}

async fn note_in_sqlite(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    let insert = sqlx::query("INSERT INTO notes (text) VALUES ($1)").bind(ctx.call.to_string());
    insert.execute(db).await?;
    Ok(json!({ "noted": true }))
}

async fn note_in_memory(
    _: NoArguments,
    db: &mut MemoryConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    db.put(ctx.call.to_string(), json!(true))?;
    Ok(json!({ "noted": true }))
}
