//! What streams cost, and how soon they are there: many of them, idle and spoken to, over a
//! restart. The server is a process of its own, because a process may not have so many open files.
//!
//! Prints each figure beside its goal, and fails where one is missed by more than half. `--quick`
//! has smaller sizes and judges nothing; `--attacks` runs the last part alone.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

mod attacks;
mod chats;
mod child;
mod client;
mod host;
mod parts;
mod readers;
mod report;
mod speaker;

use std::{path::Path, process::ExitCode, time::Duration};

use parts::Sizes;
use report::Report;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FULL: Sizes = Sizes {
    streams: 10_000,
    samples: 1_000,
    posts: 500,
    idle: Duration::from_secs(30),
    speakers: 200,
    tokens: 500,
    readers: 1_000,
    stalled: 100,
    turns: 200,
    attack: Duration::from_secs(30),
    idle_connections: 13_000,
};

const QUICK: Sizes = Sizes {
    streams: 300,
    samples: 50,
    posts: 20,
    idle: Duration::from_secs(1),
    speakers: 20,
    tokens: 50,
    readers: 50,
    stalled: 10,
    turns: 5,
    attack: Duration::from_secs(2),
    idle_connections: 100,
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    raise_open_files();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [order, store, folder, port] = arguments.as_slice()
        && order == "--serve"
    {
        child::serve(Path::new(folder), store, port.parse().unwrap()).await;
        return ExitCode::SUCCESS;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    // `cargo test` runs benches too, to see that they work.
    let is_quick = has("--quick") || !has("--bench");
    let sizes = if is_quick { QUICK } else { FULL };
    let mut report = Report::default();
    println!("{} streams, two worker threads each for server and clients", sizes.streams);
    if !has("--attacks") {
        parts::in_memory(&sizes, &mut report).await;
        parts::in_sqlite(&sizes, &mut report).await;
    }
    attacks::attacked(&sizes, &mut report).await;
    report.end(!is_quick)
}

/// Lets this process have as many open files as it may: each stream is one.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}
