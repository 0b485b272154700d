//! What group commit is worth: 256 writers at once on SQLite at FULL, against one transaction for
//! each job.
//!
//! Both run on the same writing connection of the same file, one after the other. The counterpart
//! is the same StoreActor with groups of one job, so the database is never busy. Each sync of a
//! file is counted where SQLite calls it. A third run slows each sync down to what a common disk
//! takes, and is marked as such.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

use std::{sync::Arc, time::Duration};

use madang::{
    Limits,
    store::{SqliteStore, Store},
};
use madang_actors::store::{Keep, StoreHandle};
use madang_testing::lone_store;
use sqlx::SqliteConnection;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::task::TaskTracker;

use facts::Facts;
use notes::NOTES;
use syncs::Disk;

#[path = "group_commit/facts.rs"]
mod facts;
mod notes;
#[path = "group_commit/syncs.rs"]
mod syncs;

const WRITERS: u64 = 256;

/// From here on a group commit must be worth thirty single ones, and everywhere one sync must do
/// for so many jobs.
const SLOW_COMMIT: Duration = Duration::from_micros(1_500);
const LEAST_RATIO: f64 = 30.0;
const LEAST_JOBS_PER_SYNC: f64 = 32.0;

/// What a writer does again and again.
#[derive(Debug, Clone, Copy)]
enum ClientJob {
    /// A fact of the store: a message of a chat.
    Fact,
    /// A row of the embedder's own in a lease, as `runtime.transaction()` writes it.
    Lease,
}

/// What a run has shown.
struct Shown {
    jobs_a_second: f64,
    jobs_per_sync: Option<f64>,
    commit: Duration,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo test` runs benches too, to see that they work: once is enough then.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let mut has_missed = false;
    let mut has_failed = false;
    println!(
        "{:<54} {:>10} {:>12} {:>12} {:>10}",
        "", "jobs/s", "a commit", "jobs a sync", "ratio"
    );
    for (disk, name) in [(Disk::AsItIs, "this disk"), (Disk::Slow, "each sync 2 ms longer")] {
        for (job, what) in [(ClientJob::Fact, "a message"), (ClientJob::Lease, "a row in a lease")]
        {
            syncs::slow_down(disk);
            let (one_by_one, grouped) = compare(job, is_bench).await;
            syncs::slow_down(Disk::AsItIs);
            let ratio = grouped.jobs_a_second / one_by_one.jobs_a_second;
            row(&format!("{what}, one transaction a job, {name}"), &one_by_one, None);
            row(&format!("{what}, 256 writers in groups, {name}"), &grouped, Some(ratio));
            has_missed |= one_by_one.commit >= SLOW_COMMIT && ratio < LEAST_RATIO;
            has_failed |= grouped.jobs_per_sync.is_some_and(|jobs| jobs < LEAST_JOBS_PER_SYNC);
        }
    }
    // What a group saves depends on the disk and on how busy the processor is; how many jobs share
    // a sync does not.
    let verdict = if has_missed { "missed" } else { "reached" };
    println!("{LEAST_RATIO} times as much where a commit takes {SLOW_COMMIT:?} or more: {verdict}");
    assert!(!(is_bench && has_failed), "at least {LEAST_JOBS_PER_SYNC} jobs share a sync");
}

/// Compares one transaction a job with groups, on one connection of one file.
async fn compare(job: ClientJob, is_bench: bool) -> (Shown, Shown) {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteStore::open(folder.path().join("bench.db")).migrations("notes", &NOTES);
    let store: Arc<dyn Store> = Arc::new(options.await.unwrap());
    let facts = Facts::new(&store, WRITERS).await;
    let single = one_job_a_group();
    let (few, many) = if is_bench { (2, 200) } else { (1, 2) };
    // What is measured first finds an empty file; a little of both comes before.
    for limits in [single.clone(), Limits::default()] {
        run(&store, &facts, job, limits, 1).await;
    }
    let one_by_one = run(&store, &facts, job, single, few).await;
    let grouped = run(&store, &facts, job, Limits::default(), many).await;
    store.close().await;
    (one_by_one, grouped)
}

fn one_job_a_group() -> Limits {
    Limits { max_batch_jobs: 1, ..Limits::default() }
}

/// Lets each writer write so many jobs, one after the other, all writers at once.
async fn run(
    store: &Arc<dyn Store>,
    facts: &Facts,
    job: ClientJob,
    limits: Limits,
    each: u64,
) -> Shown {
    let tasks = TaskTracker::new();
    let handle = lone_store(store.clone(), limits, tasks.clone()).await;
    let before = syncs::count();
    let begin = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let handle = handle.clone();
        let facts = facts.clone();
        writers.spawn(async move {
            for _ in 0..each {
                match job {
                    ClientJob::Fact => handle.write(facts.next(writer)).await.unwrap(),
                    ClientJob::Lease => note(&handle).await,
                }
            }
        });
    }
    writers.join_all().await;
    let took = begin.elapsed();
    let jobs = (WRITERS * each) as f64;
    let syncs = before.zip(syncs::count()).map(|(before, after)| after - before);
    tasks.close();
    tasks.wait().await;
    Shown {
        jobs_a_second: jobs / took.as_secs_f64(),
        jobs_per_sync: syncs.map(|syncs| jobs / syncs.max(1) as f64),
        commit: took.div_f64(jobs),
    }
}

async fn note(handle: &StoreHandle) {
    let mut lease = handle.lease("note".into()).await.unwrap();
    let db = lease.connection().downcast_mut::<SqliteConnection>().unwrap();
    sqlx::query("INSERT INTO notes (text) VALUES ('수면')").execute(db).await.unwrap();
    lease.end(Keep::Keep, Vec::new()).await.unwrap();
}

fn row(name: &str, shown: &Shown, ratio: Option<f64>) {
    let commit = if ratio.is_none() { format!("{:.2?}", shown.commit) } else { String::new() };
    let per_sync =
        shown.jobs_per_sync.map_or("not counted".to_owned(), |jobs| format!("{jobs:.1}"));
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1}"));
    println!("{name:<54} {:>10.0} {commit:>12} {per_sync:>12} {ratio:>10}", shown.jobs_a_second);
}
