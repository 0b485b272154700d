//! Measures one dispatch, one turn and each handler of the life toolkit, and prints a table.
//!
//! Everything runs one after the other on one runtime, so a time contains no waiting.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

use std::time::Duration;

use madang::{
    Call, Runtime, UserId,
    approval::{Approver, Decision},
    store::SqliteStore,
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
use madang_toolkits::life;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Repetitions of a measurement in microseconds, enough for a steady median.
const MANY: usize = 20_000;
/// Repetitions of a measurement that waits for a disk.
const SOME: usize = 300;

fn main() {
    // `cargo test` runs benches only to see that they work: once is enough.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let (many, some) = if is_test { (20, 5) } else { (MANY, SOME) };
    // One thread measures our own time; two would add the wake-up of the other thread.
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let two =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("{:<52} {:>10} {:>10} {:>10}", "", "median", "p99", "max");
    one.block_on(in_memory(many, "one thread"));
    two.block_on(in_memory(many, "two threads"));
    two.block_on(life_toolkit(some));
}

async fn in_memory(count: usize, threads: &str) {
    let script =
        [ScriptedCompletion::call("look", &json!({})), ScriptedCompletion::text("Nothing there.")];
    let runtime = Runtime::builder()
        .model(ScriptedModel::repeating(script))
        .store(MemoryStore::new())
        .tool(tool::plain("look", "Looks.", look).effect(EffectPolicy::Read))
        .start()
        .await
        .unwrap();
    let kim = UserId::new("kim").unwrap();

    let mut times = Vec::new();
    for _ in 0..count {
        let call = Call::new(kim.clone(), "look", "{}");
        let begin = Instant::now();
        runtime.begin(call).await.unwrap().ended().await;
        times.push(begin.elapsed());
    }
    row(&format!("dispatch of a reading tool, memory store, {threads}"), times);

    let mut times = Vec::new();
    let mut session = runtime.user("kim").unwrap().session("0").await.unwrap();
    for number in 0..count {
        // A fresh chat from time to time, because the model's prompt grows with each turn.
        if number % 20 == 0 {
            session = runtime.user("kim").unwrap().session(&number.to_string()).await.unwrap();
        }
        let begin = Instant::now();
        session.send("look").await.unwrap().ended().await.unwrap();
        times.push(begin.elapsed());
    }
    row(&format!("turn with one tool, memory store, {threads}"), times);
    runtime.shutdown().await.unwrap();
}

async fn look(_: NoArguments, _: &ToolContext) -> ToolResult<Value> {
    Ok(json!({ "found": 0 }))
}

async fn life_toolkit(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("bench.db"))
        .migrations("life", &life::MIGRATIONS)
        .await
        .unwrap();
    let runtime = Runtime::builder()
        .model(ScriptedModel::new([]))
        .store(store)
        .tools(life::tools())
        .start()
        .await
        .unwrap();
    for (name, arguments) in [
        ("search_catalog", json!({ "category": "sleep" })),
        ("query_protocol", json!({ "id": "morning-light" })),
        (
            "add_habit",
            json!({ "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "아침 햇빛" }),
        ),
        ("list_active_habits", json!({})),
        ("log_tracker_entry", json!({ "habit_id": 1, "value": "done" })),
        ("get_streak", json!({ "habit_id": 1 })),
    ] {
        let mut times = Vec::new();
        for number in 0..count {
            // Each call writes for its own user: a repeated write would only find the first one.
            let user =
                if name == "add_habit" { format!("user {number}") } else { "user 0".to_owned() };
            let call = Call::new(UserId::new(user).unwrap(), name, arguments.to_string())
                .approver(Approver::Decided(Decision::Approve));
            let begin = Instant::now();
            runtime.begin(call).await.unwrap().ended().await;
            times.push(begin.elapsed());
        }
        row(&format!("life: {name}, SQLite at FULL"), times);
    }
    runtime.shutdown().await.unwrap();
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            reason = "an index below the length"
        )]
        let index = ((times.len() - 1) as f64 * share) as usize;
        format!("{:.1} us", times[index].as_secs_f64() * 1e6)
    };
    println!("{name:<52} {:>10} {:>10} {:>10}", at(0.5), at(0.99), at(1.0));
}
