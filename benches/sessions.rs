//! Measures many sessions: the cost of an idle one that is awake, the time of opening and waking,
//! and the rest of those that sleep. It also measures what one user feels of another that floods
//! the runtime.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

mod heap;

use std::{ops::Range, path::Path, sync::Arc, time::Duration};

use madang::{
    Error, Limits, Runtime, Session,
    error::Bound,
    store::SqliteStore,
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_testing::{MemoryStore, RuntimeHooks as _, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use sqlx::SqliteConnection;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Sessions that are opened at the same time: they share commits.
const AT_ONCE: usize = 512;

/// Handles of sessions that are held at the same time.
const HELD_AT_ONCE: usize = 50_000;

/// How many of what.
struct Sizes {
    sessions: usize,
    /// Sleeping sessions in the store while others wake.
    asleep: &'static [usize],
    wakes: usize,
    /// Turns of the quiet user.
    turns: usize,
    /// Sessions of the user that floods.
    flood: usize,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo test` runs benches too, to see that they work: once is enough then.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let sizes = if is_test {
        Sizes { sessions: 20, asleep: &[10, 20], wakes: 5, turns: 3, flood: 8 }
    } else {
        Sizes {
            sessions: 10_000,
            asleep: &[100, 10_000, 1_000_000],
            wakes: 500,
            turns: 200,
            flood: 1_000,
        }
    };
    let folder = tempfile::tempdir().unwrap();
    cost(sizes.sessions, None).await;
    cost(sizes.sessions, Some(&folder.path().join("cost.db"))).await;
    println!();
    waking(&sizes, &folder.path().join("waking.db")).await;
    println!();
    println!("{:<56} {:>9} {:>9} {:>9}", "a turn of a quiet user", "median", "p99", "max");
    for path in [None, Some(folder.path().join("flood.db"))] {
        flooded(&sizes, path.as_deref()).await;
    }
}

async fn runtime(path: Option<&Path>, limits: Limits) -> Runtime {
    let script = [ScriptedCompletion::call("note", &json!({})), ScriptedCompletion::text("Noted.")];
    with_model(ScriptedModel::repeating(script), path, limits).await
}

async fn with_model(model: ScriptedModel, path: Option<&Path>, limits: Limits) -> Runtime {
    let builder = Runtime::builder().model(model).limits(limits);
    let builder = match path {
        Some(path) => builder
            .store(SqliteStore::open(path).await.unwrap())
            .tool(tool::transactional("note", "Notes.", note).effect(EffectPolicy::Write)),
        None => builder
            .store(MemoryStore::new())
            .tool(tool::plain("note", "Notes.", look).effect(EffectPolicy::Read)),
    };
    builder.start().await.unwrap()
}

async fn note(_: NoArguments, _: &mut SqliteConnection, _: &ToolContext) -> ToolResult<Value> {
    Ok(json!({}))
}

async fn look(_: NoArguments, _: &ToolContext) -> ToolResult<Value> {
    Ok(json!({}))
}

fn store_name(path: Option<&Path>) -> &'static str {
    if path.is_some() { "SQLite at FULL" } else { "memory store" }
}

/// Opens sessions of a hundred users, many at the same time.
async fn opened(runtime: &Runtime, numbers: Range<usize>) -> Vec<Session> {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut opening: JoinSet<Session> = JoinSet::new();
    for number in numbers {
        let runtime = runtime.clone();
        let permit = permits.clone().acquire_owned().await.unwrap();
        opening.spawn(async move {
            let user = format!("user {}", number % 100);
            let session =
                runtime.user(&user).unwrap().session(&format!("session {number}")).await.unwrap();
            drop(permit);
            session
        });
    }
    opening.join_all().await
}

async fn forgotten(runtime: &Runtime) {
    while runtime.sessions_in_memory() > 0 {
        sleep(Duration::from_millis(5)).await;
    }
}

async fn cost(count: usize, path: Option<&Path>) {
    let limits = Limits { session_idle: Duration::from_secs(5), ..Limits::default() };
    let runtime = runtime(path, limits).await;
    // The first session makes what all share.
    runtime.user("kim").unwrap().session("first").await.unwrap().state().await.unwrap();
    let none = heap::live();
    let begin = Instant::now();
    let sessions = opened(&runtime, 0..count).await;
    let opening = begin.elapsed();
    let before = heap::live();
    let begin = Instant::now();
    for session in &sessions {
        session.state().await.unwrap();
    }
    let waking = begin.elapsed();
    let bytes = (heap::live() - before) / count;
    println!(
        "{}: {count} sessions opened in {:.2} s, woken one after the other in {:.2} s; awake and idle {bytes} bytes each",
        store_name(path),
        opening.as_secs_f64(),
        waking.as_secs_f64(),
    );
    drop(sessions);
    forgotten(&runtime).await;
    let left = heap::live().saturating_sub(none) / count;
    println!("{}: all asleep and let go, {left} bytes of heap are left of each", store_name(path));
    runtime.shutdown().await.unwrap();
}

/// Measures the time in which a session wakes and shows its chat, with many others asleep in the
/// store.
async fn waking(sizes: &Sizes, path: &Path) {
    let limits = Limits { session_idle: Duration::from_millis(20), ..Limits::default() };
    let runtime = runtime(Some(path), limits).await;
    println!("{:<56} {:>9} {:>9} {:>9}", "waking, SQLite at FULL", "median", "p99", "max");
    let mut stored = 0;
    let none = heap::live();
    for asleep in sizes.asleep {
        let begin = Instant::now();
        while stored < *asleep {
            let next = (stored + HELD_AT_ONCE).min(*asleep);
            let _ = opened(&runtime, stored..next).await;
            stored = next;
        }
        let opening = begin.elapsed().as_secs_f64();
        for number in 0..sizes.wakes.min(*asleep) {
            let user = format!("user {}", number % 100);
            let session =
                runtime.user(&user).unwrap().session(&format!("session {number}")).await.unwrap();
            if session.state().await.unwrap().messages.is_empty() {
                session.send("hi").await.unwrap().ended().await.unwrap();
            }
        }
        forgotten(&runtime).await;
        let mut times = Vec::new();
        for number in 0..sizes.wakes.min(*asleep) {
            let begin = Instant::now();
            let user = format!("user {}", number % 100);
            let session =
                runtime.user(&user).unwrap().session(&format!("session {number}")).await.unwrap();
            assert_eq!(session.state().await.unwrap().messages.len(), 3);
            times.push(begin.elapsed());
        }
        row(&format!("a chat with one turn, {asleep} sessions in the store"), times);
        forgotten(&runtime).await;
        let heap = heap::live().saturating_sub(none);
        let disk = path.metadata().unwrap().len();
        println!(
            "    opened in {opening:.1} s, asleep: {heap} bytes of heap in all, {disk} on disk"
        );
    }
    runtime.shutdown().await.unwrap();
}

/// Measures the turns of one user: alone, beside one user with very many sessions that asks as fast
/// as it may, and beside a few. The few users have one session each, and share the model's time.
async fn flooded(sizes: &Sizes, path: Option<&Path>) {
    // One completion at a time, as a small model on a small machine has it.
    let hello = ScriptedCompletion::text("Hello.").after(Duration::from_millis(2));
    let model = ScriptedModel::repeating([hello]).max_concurrent(1);
    let runtime = with_model(model, path, Limits::default()).await;
    let quiet = async |name: &str| {
        let mut times = Vec::new();
        for number in 0..sizes.turns {
            let name = format!("{name} {}", number / 20);
            let session = runtime.user("quiet").unwrap().session(&name).await.unwrap();
            let begin = Instant::now();
            session.send("hi").await.unwrap().ended().await.unwrap();
            times.push(begin.elapsed());
            sleep(Duration::from_millis(2)).await; // a person, not a program
        }
        row(&format!("{name}, {}", store_name(path)), times);
    };
    quiet("alone").await;
    for (name, sessions, users) in [
        ("beside one user with 1,000 sessions", sizes.flood, 1),
        ("beside 4 users with one each", 4, 4),
    ] {
        let stop = CancellationToken::new();
        let mut flood: JoinSet<(u64, u64)> = JoinSet::new();
        for number in 0..sessions {
            let user = format!("flood {}", number % users);
            let session =
                runtime.user(&user).unwrap().session(&format!("{user} {number}")).await.unwrap();
            flood.spawn(floods(session, stop.clone()));
        }
        quiet(name).await;
        let running = runtime.held(Bound::RunningTurns);
        stop.cancel();
        let ends = flood.join_all().await;
        let (turns, refused) =
            ends.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        println!(
            "    {turns} turns of the others ended, {running} were running, {refused} refused"
        );
    }
    runtime.shutdown().await.unwrap();
}

/// Asks again and again; where it is refused, it comes again when it is told to.
async fn floods(session: Session, stop: CancellationToken) -> (u64, u64) {
    let mut turns = 0;
    let mut refused = 0;
    while !stop.is_cancelled() {
        match session.send("hi").await {
            Ok(turn) => {
                turn.ended().await.unwrap();
                turns += 1;
                if turns % 20 == 0 {
                    session.clear().await.unwrap();
                }
            }
            Err(Error::Overloaded(refusal)) => {
                refused += 1;
                sleep(refusal.retry_after.unwrap_or(Duration::from_millis(1))).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    (turns, refused)
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| {
        format!("{:.2} ms", times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3)
    };
    println!("{name:<56} {:>9} {:>9} {:>9}", at(50), at(99), at(100));
}
