//! What the actors cost: turns through them, against plain async functions that do the same work.
//!
//! Both use the same pure parts (admission, prompt, check, digest, transitions, envelope), ports,
//! deadlines, spans and metrics. Both make the same writes to the same memory store and give the
//! same feed of events. In both a tool runs in a task of its own, so that its panic ends nothing
//! else and its write survives its caller. What differs is how it is put together. Processor time
//! is compared, since both cores are busy. Beside them stands what the actors, messages and tasks
//! of a turn cost that do nothing.
//!
//! `store=sqlite` runs both over SQLite at FULL instead, `chats=N` sets the chats at once, and
//! `turns=N` the turns of each chat. `only=actors` or `only=plain` runs one of them once, for a
//! profiler: the difference between two counts of turns is what turns cost.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

use std::{fmt::Debug, str::FromStr, sync::Arc, time::Duration};

use cpu_time::ProcessTime;
use madang::{
    Runtime,
    event::TurnEnding,
    model::ChatModel,
    store::{SqliteStore, Store},
    tool::{self, EffectPolicy, NoArguments, Tool, ToolContext, ToolResult},
};
use madang_testing::{MemoryConnection, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use sqlx::SqliteConnection;
use tempfile::TempDir;
use tokio::{task::JoinSet, time::Instant};

use notes::NOTES;
use plain::Plain;
use skeleton::Skeleton;

mod notes;
#[path = "pipeline/plain.rs"]
mod plain;
#[path = "pipeline/skeleton.rs"]
mod skeleton;

/// Chats at once, unless `chats=N` says that there are fewer. It is also how many turns one user
/// may have at once.
const CHATS: usize = 256;
/// Pairs of runs, one after the other, so that what the machine does meanwhile hits both.
const PAIRS: usize = 7;

/// What a run took.
#[derive(Debug, Clone, Copy)]
struct Took {
    cpu: Duration,
    time: Duration,
}

/// As a server would: the system's own spends a third of a turn where its threads meet.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo test` runs benches too, to see that they work: once is enough then.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let store = if argument_of::<String>("store").as_deref() == Some("sqlite") {
        StoreKind::Sqlite
    } else {
        StoreKind::Memory
    };
    let usual = match store {
        _ if is_test => 1,
        StoreKind::Memory => 40,
        StoreKind::Sqlite => 4, // without groups, each write of the plain side waits for the disk alone
    };
    let turns = argument_of("turns").unwrap_or(usual);
    match argument_of::<String>("only").as_deref() {
        Some("actors") => row("actors", vec![run_actors(store, turns).await], turns),
        Some("plain") => row("plain async functions", vec![run_plain(store, turns).await], turns),
        Some(other) => panic!("only=actors or only=plain, not {other}"),
        None => compare(store, turns, if is_test { 1 } else { PAIRS }).await,
    }
}

/// Reads the value of an argument of the form `name=value`.
fn argument_of<T: FromStr<Err: Debug>>(name: &str) -> Option<T> {
    let value = |argument: String| {
        argument.strip_prefix(name)?.strip_prefix('=').map(|value| value.parse().unwrap())
    };
    std::env::args().find_map(value)
}

fn how_many_chats() -> usize {
    let chats = argument_of("chats").unwrap_or(CHATS);
    assert!((1..=CHATS).contains(&chats), "chats=1 to chats={CHATS}");
    chats
}

async fn compare(store: StoreKind, turns: usize, pairs: usize) {
    let mut actors = Vec::new();
    let mut plains = Vec::new();
    let mut skeletons = Vec::new();
    let mut ratios = Vec::new();
    let mut floors = Vec::new();
    run_actors(store, turns).await;
    run_plain(store, turns).await;
    run_skeleton(turns).await;
    for pair in 0..pairs {
        // The second side finds a warmer machine: they take turns at it.
        let (with, without) = if pair % 2 == 0 {
            let with = run_actors(store, turns).await;
            (with, run_plain(store, turns).await)
        } else {
            let without = run_plain(store, turns).await;
            (run_actors(store, turns).await, without)
        };
        let alone = run_skeleton(turns).await;
        ratios.push(with.cpu.as_secs_f64() / without.cpu.as_secs_f64());
        floors.push((without.cpu + alone.cpu).as_secs_f64() / without.cpu.as_secs_f64());
        actors.push(with);
        plains.push(without);
        skeletons.push(alone);
    }
    println!("{:<44} {:>14} {:>14}", "", "cpu a turn", "turns/s");
    row("actors", actors, turns);
    row("plain async functions", plains, turns);
    row("actors, messages and tasks that do nothing", skeletons, turns);
    times("actors against plain, median of the pairs", ratios);
    times("plain and what does nothing, against plain", floors);
}

/// The store of both sides.
#[derive(Debug, Clone, Copy)]
enum StoreKind {
    Memory,
    Sqlite,
}

/// Makes a new store on the disk.
async fn sqlite() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteStore::open(folder.path().join("pipeline.db"));
    (folder, options.migrations("notes", &NOTES).await.unwrap())
}

async fn run_actors(store: StoreKind, turns: usize) -> Took {
    match store {
        StoreKind::Memory => actors(MemoryStore::new(), note_tool(), turns).await,
        StoreKind::Sqlite => {
            let (_folder, store) = sqlite().await;
            actors(store, sqlite_note_tool(), turns).await
        }
    }
}

async fn actors(store: impl Store, tool: impl Tool, turns: usize) -> Took {
    let runtime = Runtime::builder().model(model()).store(store).tool(tool).start().await.unwrap();
    let took = measure(async |chats: &mut JoinSet<()>| {
        for chat in 0..how_many_chats() {
            let runtime = runtime.clone();
            chats.spawn(async move {
                let name = format!("chat {chat}");
                let session = runtime.user("kim").unwrap().session(&name).await.unwrap();
                for _ in 0..turns {
                    let end = session.send("note it").await.unwrap().ended().await.unwrap();
                    assert_eq!(end.ending, TurnEnding::Answered);
                }
            });
        }
    })
    .await;
    runtime.shutdown().await.unwrap();
    took
}

async fn run_plain(store: StoreKind, turns: usize) -> Took {
    match store {
        StoreKind::Memory => plain(MemoryStore::new(), note_tool(), turns).await,
        StoreKind::Sqlite => {
            let (_folder, store) = sqlite().await;
            plain(store, sqlite_note_tool(), turns).await
        }
    }
}

async fn plain(store: impl Store, tool: impl Tool, turns: usize) -> Took {
    let plain = Arc::new(Plain::new(Arc::new(model()), Arc::new(store), tool));
    measure(async |chats: &mut JoinSet<()>| {
        for chat in 0..how_many_chats() {
            let plain = plain.clone();
            chats.spawn(async move {
                let mut chat = plain.open("kim", &format!("chat {chat}")).await;
                for _ in 0..turns {
                    chat.turn("note it").await;
                }
            });
        }
    })
    .await
}

async fn run_skeleton(turns: usize) -> Took {
    let skeleton = Skeleton::new().await;
    let took = measure(async |chats: &mut JoinSet<()>| {
        for _ in 0..how_many_chats() {
            let skeleton = skeleton.clone();
            chats.spawn(async move {
                let chat = skeleton.open().await;
                for _ in 0..turns {
                    chat.turn().await;
                }
            });
        }
    })
    .await;
    skeleton.stop();
    took
}

async fn measure(begin: impl AsyncFnOnce(&mut JoinSet<()>)) -> Took {
    let cpu = ProcessTime::now();
    let time = Instant::now();
    let mut chats = JoinSet::new();
    begin(&mut chats).await;
    chats.join_all().await;
    Took { cpu: cpu.elapsed(), time: time.elapsed() }
}

/// Asks for the tool, then answers, at once.
fn model() -> impl ChatModel {
    ScriptedModel::repeating([
        ScriptedCompletion::call("note", &json!({})),
        ScriptedCompletion::text("Noted."),
    ])
}

fn note_tool() -> impl Tool {
    tool::transactional("note", "Notes.", note).effect(EffectPolicy::Write)
}

async fn note(_: NoArguments, db: &mut MemoryConnection, ctx: &ToolContext) -> ToolResult<Value> {
    db.put(ctx.call.to_string(), json!(true))?;
    Ok(json!({ "noted": true }))
}

fn sqlite_note_tool() -> impl Tool {
    tool::transactional("note", "Notes.", note_in_sqlite).effect(EffectPolicy::Write)
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

fn times(what: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    println!("{what:<44} {:>13.2}x", ratios[ratios.len() / 2]);
}

fn row(name: &str, mut took: Vec<Took>, turns: usize) {
    took.sort_by_key(|took| took.cpu);
    let Took { cpu, time } = took[took.len() / 2];
    let all = (how_many_chats() * turns) as f64;
    println!(
        "{name:<44} {:>11.1} us {:>14.0}",
        cpu.as_secs_f64() * 1e6 / all,
        all / time.as_secs_f64()
    );
}
