//! Tests parts of a handler's transaction that fail alone.

use std::{
    cell::Cell,
    future::poll_fn,
    panic::AssertUnwindSafe,
    sync::{
        Mutex,
        mpsc::{Receiver, channel},
    },
    task::Poll,
    time::Duration,
};

use madang_actors::{
    port::{StoreError, ToolFault, ToolResult},
    store::Keep,
};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use super::support::{StoreFixture, db, note, record};
use crate::store::savepoint;

/// Lists the calls that have a note.
async fn noted(fixture: &StoreFixture) -> Vec<i64> {
    let mut lease = fixture.lease("look").await;
    sqlx::query_scalar("SELECT call FROM notes ORDER BY id")
        .fetch_all(db(&mut lease))
        .await
        .unwrap()
}

/// Lends the transaction to a handler, keeps its writes, and lists the notes.
async fn kept(handler: impl AsyncFnOnce(&mut SqliteConnection)) -> Vec<i64> {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, handler).await.expect("the handler's writes are committed");
    let notes = noted(&fixture).await;
    fixture.close().await;
    notes
}

/// Lends the transaction to a handler, wants its writes kept, and requires that all are refused.
async fn refused(handler: impl AsyncFnOnce(&mut SqliteConnection)) {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, handler).await;
    let is_undone =
        matches!(told, Err(StoreError::Unavailable { .. } | StoreError::Refused { .. }));
    assert!(is_undone, "{told:?}");
    assert_eq!(noted(&fixture).await, [0; 0]);
    fixture.call(2, Keep::Keep, async |db| note(db, 2).await.unwrap()).await.unwrap();
    assert_eq!(noted(&fixture).await, [2], "the next handler is not concerned");
    fixture.close().await;
}

fn broken() -> ToolFault {
    ToolFault::rule("r1", "broken")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_fails_is_undone_alone() {
    let notes = kept(async |db| {
        note(db, 1).await.unwrap();
        for call in [2, 3, 4] {
            let part = savepoint(db, async |db| {
                note(db, call).await?;
                if call == 3 { Err(broken()) } else { Ok(call) }
            });
            let ended: ToolResult<u64> = part.await;
            assert_eq!(ended.ok(), (call != 3).then_some(call));
        }
        let constraint = savepoint(db, async |db| {
            note(db, 5).await?;
            sqlx::query("INSERT INTO notes (call) VALUES (NULL)").execute(db).await
        });
        assert!(constraint.await.unwrap_err().to_string().contains("NOT NULL"));
        note(db, 6).await.unwrap();
    });
    assert_eq!(notes.await, [1, 2, 4, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_nest() {
    let notes = kept(async |db| {
        let outer: ToolResult<()> = savepoint(db, async |db| {
            note(db, 1).await?;
            let inner: ToolResult<()> = savepoint(db, async |db| {
                note(db, 2).await?;
                Err(broken())
            })
            .await;
            assert!(inner.is_err());
            savepoint(db, async |db| note(db, 3).await).await?;
            Ok(())
        })
        .await;
        outer.unwrap();
        let outer: ToolResult<()> = savepoint(db, async |db| {
            savepoint(db, async |db| note(db, 4).await).await?;
            Err(broken())
        })
        .await;
        assert!(outer.is_err(), "what an inner part kept goes with the outer one");
        note(db, 5).await.unwrap();
    });
    assert_eq!(notes.await, [1, 3, 5]);
}

/// Polls a future this often, or until it would wait for nothing, and drops it. True if it ended.
async fn cut_off<T>(work: impl Future<Output = T>, polls: usize) -> bool {
    let mut work = Box::pin(work);
    let mut left = polls;
    let polled = poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        work.as_mut().poll(cx).map(|_| true)
    });
    tokio::time::timeout(Duration::from_millis(50), polled).await.unwrap_or(false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_dropped_at_any_poll_is_undone_though_its_handler_goes_on() {
    for polls in 0..24 {
        let notes = kept(async |db| {
            note(db, 1).await.unwrap();
            let part = savepoint(db, async |db| {
                note(db, 2).await?;
                savepoint(db, async |db| note(db, 3).await).await?;
                note(db, 4).await?;
                // A part that was cut off before its end leaves nothing, and takes no later write
                // with it.
                std::future::pending::<sqlx::Result<()>>().await
            });
            assert!(!cut_off(part, polls).await);
            note(db, 5).await.unwrap();
            savepoint(db, async |db| note(db, 6).await).await.unwrap();
            note(db, 7).await.unwrap();
        });
        let notes = notes.await;
        assert!(notes == [1, 5, 6, 7], "cut off after {polls} polls: {notes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_dropped_while_it_ends_is_kept_or_undone_and_never_half() {
    for polls in 0..16 {
        let notes = kept(async |db| {
            let part = savepoint(db, async |db| {
                note(db, 1).await?;
                note(db, 2).await
            });
            let ended = cut_off(part, polls).await;
            let so_far: Vec<i64> = sqlx::query_scalar("SELECT call FROM notes ORDER BY id")
                .fetch_all(&mut *db)
                .await
                .unwrap();
            assert!(so_far == [1, 2] || (so_far.is_empty() && !ended), "{polls}: {so_far:?}");
            note(db, 3).await.unwrap();
        });
        assert!(matches!(*notes.await, [1, 2, 3] | [3]), "after {polls} polls");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_is_dropped_inside_of_a_part_leaves_nothing() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for polls in 0..16 {
        let mut lease = fixture.lease("cut off").await;
        let handler = async |db: &mut SqliteConnection| {
            note(db, 1).await?;
            savepoint(db, async |db| {
                note(db, 2).await?;
                std::future::pending::<sqlx::Result<()>>().await
            })
            .await
        };
        assert!(!cut_off(handler(db(&mut lease)), polls).await);
        lease.end(Keep::Undo, record("s", polls as u64 + 1)).await.expect("its record is written");
    }
    assert_eq!(noted(&fixture).await, [0; 0]);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_inside_of_a_part_undoes_it_where_the_handler_survives() {
    let notes = kept(async |db| {
        note(db, 1).await.unwrap();
        let part = savepoint(db, async |db: &mut SqliteConnection| -> sqlx::Result<()> {
            note(db, 2).await?;
            panic!("a bug")
        });
        let mut part = Box::pin(part);
        let caught = poll_fn(|cx| {
            let poll = AssertUnwindSafe(|| part.as_mut().poll(cx));
            match std::panic::catch_unwind(poll) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(_)) => Poll::Ready(false),
                Err(_) => Poll::Ready(true),
            }
        })
        .await;
        assert!(caught);
        drop(part);
        note(db, 3).await.unwrap();
    });
    assert_eq!(notes.await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_ends_the_savepoint_around_it_costs_the_whole_handler() {
    for typed in ["RELEASE mine", "ROLLBACK TO mine; RELEASE mine", "ROLLBACK", "ROLLBACK; BEGIN"] {
        for keep in [true, false] {
            refused(async |db| {
                sqlx::query("SAVEPOINT mine").execute(&mut *db).await.unwrap();
                let part: ToolResult<()> = savepoint(db, async |db| {
                    note(db, 1).await?;
                    sqlx::query(typed).execute(db).await?;
                    if keep { Ok(()) } else { Err(broken()) }
                })
                .await;
                // A rollback of all, noticed when the loan ends.
                assert!(part.is_err() || !typed.contains("mine"), "{typed}");
                // A handler that ignores it and goes on.
                let _ = note(db, 2).await;
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_inside_of_a_part_is_refused_like_any_other() {
    let notes = kept(async |db| {
        let part = savepoint(db, async |db| {
            note(db, 1).await?;
            sqlx::query("COMMIT").execute(db).await
        });
        assert!(part.await.unwrap_err().to_string().contains("not authorized"));
        note(db, 2).await.unwrap();
    });
    assert_eq!(notes.await, [2], "the part is undone alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_connection_of_ones_own_a_part_is_a_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new().filename(folder.path().join("own.db"));
    let mut db = options.clone().create_if_missing(true).connect().await.unwrap();
    let table = "CREATE TABLE notes (id INTEGER PRIMARY KEY, call INTEGER NOT NULL)";
    sqlx::query(table).execute(&mut db).await.unwrap();
    savepoint(&mut db, async |db| note(db, 1).await).await.unwrap();
    let failed: ToolResult<()> = savepoint(&mut db, async |db| {
        note(db, 2).await?;
        Err(broken())
    })
    .await;
    assert!(failed.is_err());
    let mut other = options.connect().await.unwrap();
    let seen: Vec<i64> =
        sqlx::query_scalar("SELECT call FROM notes").fetch_all(&mut other).await.unwrap();
    assert_eq!(seen, [1]);
}

/// Fills the connection's queue with statements behind one that waits for the gate, and awaits
/// none.
async fn fill_the_queue(db: &mut SqliteConnection, gate: Receiver<()>) {
    let gate = Mutex::new(gate);
    let at_the_gate = move |one: &str, other: &str| {
        gate.lock().expect("the connection's thread compares alone").recv().ok();
        one.cmp(other)
    };
    db.lock_handle().await.unwrap().create_collation("at_the_gate", at_the_gate).unwrap();
    let lasting = "SELECT 'a' < 'b' COLLATE at_the_gate";
    for sql in std::iter::once(lasting).chain([const { "SELECT 1" }; 100]) {
        let mut said = Box::pin(sqlx::query(sql).execute(&mut *db));
        poll_fn(|cx| Poll::Ready(said.as_mut().poll(cx).is_ready())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_whose_undoing_found_no_room_in_the_queue_costs_the_whole_handler() {
    refused(async |db| {
        note(db, 1).await.unwrap();
        let (open, gate) = channel();
        let is_full = Cell::new(false);
        let mut part = Box::pin(savepoint(db, async |db| {
            note(db, 3).await?;
            fill_the_queue(db, gate).await;
            is_full.set(true);
            std::future::pending::<sqlx::Result<()>>().await
        }));
        poll_fn(|cx| {
            let _pending = part.as_mut().poll(cx);
            if is_full.get() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        drop(part);
        drop(open);
        note(db, 4).await.unwrap();
    })
    .await;
}
