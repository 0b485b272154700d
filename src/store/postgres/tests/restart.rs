//! Tests a server of its own that is stopped in mid-write: nothing that was acknowledged is missing.

use std::{
    path::{Path, PathBuf},
    process::Output,
};

use madang_actors::{port::Store as _, protocol::Limits, store::Keep};
use madang_testing::lone_store;
use tempfile::TempDir;
use tokio::{process::Command, sync::watch, time::Instant};
use tokio_util::task::TaskTracker;

use super::support::{
    KEYS, PATIENCE, connect, db, needs_server, note, opening, record, run, say, session,
};
use crate::store::{PostgresOpenError, PostgresStore};

/// A server of one test.
struct Server {
    folder: TempDir,
    url: String,
}

impl Server {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = start(folder.path()).await;
        Self { folder, url }
    }

    async fn stop(&self, how: &str) {
        let stopped = script(&["stop", &self.folder.path().display().to_string(), how]).await;
        assert!(stopped.status.success(), "{stopped:?}");
    }
}

async fn start(folder: &Path) -> String {
    let started = script(&["start", &folder.display().to_string()]).await;
    assert!(started.status.success(), "{started:?}");
    String::from_utf8(started.stdout).unwrap().trim().to_owned()
}

async fn script(arguments: &[&str]) -> Output {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/postgres.sh");
    Command::new(script).args(arguments).output().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_at_once_loses_nothing_that_was_acknowledged() {
    needs_server!();
    let server = Server::start().await;
    let mut direct = connect(&server.url).await;
    run(&mut direct, "CREATE TABLE notes (call bigint NOT NULL)").await.unwrap();
    let store = PostgresStore::options(server.url.as_str()).seal_keys(KEYS.clone());
    let store = store.open().await.unwrap();
    let port = std::sync::Arc::new(store.clone());
    let tasks = TaskTracker::new();
    let handle = lone_store(port, Limits::default(), tasks.clone()).await;
    for name in ["s", "c"] {
        handle.write(opening(name, "kim")).await.unwrap();
    }
    let (mut said, mut called) = (Vec::new(), Vec::new());
    let (mut seq, mut number) = (0, 0);
    let (acknowledged, mut heard) = watch::channel(0);
    for round in 1..=3 {
        // While more of them are under way.
        let stops = async {
            drop(heard.wait_for(|count| *count >= 10 * round).await.unwrap());
            server.stop("immediate").await;
        };
        let mut stops = std::pin::pin!(stops);
        let mut has_stopped = false;
        // Until the writes fail.
        while !has_stopped {
            let group: Vec<_> = (1..=4)
                .map(|next| (seq + next, handle.begin_write(say("s", seq + next))))
                .collect();
            seq += 4;
            let writes = async {
                let mut failed = false;
                for (seq, write) in group {
                    match write.await {
                        Ok(()) => {
                            said.push(seq);
                            acknowledged.send_modify(|count| *count += 1);
                        }
                        Err(_) => failed = true,
                    }
                }
                number += 1;
                if let Ok(mut lease) = handle.lease("tool".into()).await {
                    let noted = note(db(&mut lease), number).await.is_ok();
                    let keep = if noted { Keep::Keep } else { Keep::Undo };
                    match lease.end(keep, record("c", number)).await {
                        Ok(()) => called.push(number),
                        Err(_) => failed = true,
                    }
                }
                failed
            };
            let mut writes = std::pin::pin!(writes);
            has_stopped = tokio::select! {
                () = &mut stops => { writes.await; true }
                failed = &mut writes => failed,
            };
            if has_stopped {
                break;
            }
        }
        // The stop may not be over where a write failed first.
        while script(&["stop", &server.folder.path().display().to_string(), "immediate"])
            .await
            .status
            .success()
        {}
        let again = start(server.folder.path()).await;
        assert_eq!(again, server.url);
        // The same store goes on.
        let deadline = Instant::now() + PATIENCE;
        loop {
            seq += 1;
            match handle.write(say("s", seq)).await {
                Ok(()) => {
                    said.push(seq);
                    break;
                }
                Err(error) => assert!(Instant::now() < deadline, "{error:?}"),
            }
        }
    }
    assert!(said.len() > 20 && !called.is_empty(), "{} and {}", said.len(), called.len());
    let stored = store.session(&session("s")).await.unwrap().unwrap();
    let found: Vec<u64> = stored.messages.iter().map(|message| message.seq).collect();
    let missing: Vec<_> = said.iter().filter(|seq| !found.contains(seq)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // A handler's rows and its record are there together.
    let mut direct = connect(&server.url).await;
    let notes: Vec<i64> =
        sqlx::query_scalar("SELECT call FROM notes").fetch_all(&mut direct).await.unwrap();
    let filter = madang_actors::port::LedgerFilter::default().in_session(&session("c"));
    let ended = store.calls(&filter).await.unwrap();
    for number in called {
        assert!(ended.iter().any(|row| row.call == super::support::call(number)), "{number}");
    }
    for row in &ended {
        let number = row.call.uuid().as_u128();
        let effects = notes.iter().filter(|note| u128::try_from(**note) == Ok(number)).count();
        assert!(effects <= 1, "{number} is done {effects} times");
    }
    for note in notes {
        let is_recorded =
            ended.iter().any(|row| i64::try_from(row.call.uuid().as_u128()) == Ok(note));
        assert!(is_recorded, "{note}");
    }
    for name in ["s", "c"] {
        if let Some(ledger) = store.session_ledger(&session(name)).await.unwrap() {
            ledger.audit(None, Some(store.keys())).unwrap();
        }
    }
    store.close().await;
    server.stop("fast").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_refused() {
    needs_server!();
    let server = Server::start().await;
    server.stop("fast").await;
    std::fs::write(server.folder.path().join("data/standby.signal"), "").unwrap();
    let url = start(server.folder.path()).await;
    let told = PostgresStore::options(url).seal_keys(KEYS.clone()).open().await.unwrap_err();
    assert!(matches!(told, PostgresOpenError::Standby { .. }), "{told:?}");
    server.stop("fast").await;
}
