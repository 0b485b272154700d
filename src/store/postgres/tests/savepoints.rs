//! Tests the parts of a transaction that a handler may undo alone.

use std::{pin::pin, time::Duration};

use madang_actors::{port::StoreError, store::Keep};
use sqlx::PgConnection;

use super::support::{ENDED, NOTES_COUNT, StoreFixture, needs_server, note};
use crate::store::pg_savepoint;

async fn fails(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO notes (call) VALUES (NULL)").execute(db).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_fails_is_undone_alone_and_what_comes_after_it_is_kept() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let ended = fixture.call(1, Keep::Keep, async |db| {
        note(db, 1).await.unwrap();
        let failed = pg_savepoint(db, async |db| {
            note(&mut *db, 2).await?;
            fails(db).await
        });
        failed.await.unwrap_err();
        let kept = pg_savepoint(db, async |db| {
            note(&mut *db, 3).await?;
            let inner = pg_savepoint(&mut *db, async |db| {
                note(db, 4).await?;
                Err::<(), _>(sqlx::Error::RowNotFound)
            });
            inner.await.unwrap_err();
            note(db, 5).await
        });
        kept.await.unwrap();
    });
    ended.await.unwrap();
    let notes = "SELECT sum(call)::bigint FROM notes";
    assert_eq!(fixture.database.count(notes).await, 1 + 3 + 5);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_outside_of_a_part_undoes_the_handlers_writes() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        note(db, 1).await.unwrap();
        fails(db).await.unwrap_err();
    });
    let told = told.await;
    assert!(matches!(told, Err(StoreError::Refused { .. })), "{told:?}");
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 0, "nothing says that it was done");
    let done = fixture.call(2, Keep::Undo, async |db| {
        note(db, 2).await.unwrap();
        fails(db).await.unwrap_err();
    });
    done.await.expect("its end is recorded");
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_cut_off_is_undone_at_any_moment() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for polls in 1..12 {
        let mut lease = fixture.lease().await;
        let db = super::support::db(&mut lease);
        let part = pg_savepoint(&mut *db, async |db| {
            note(&mut *db, polls).await?;
            sqlx::query("SELECT pg_sleep(0.01)").execute(&mut *db).await?;
            note(db, polls).await?;
            std::future::pending::<sqlx::Result<()>>().await
        });
        {
            let mut part = pin!(part);
            for _ in 0..polls {
                let _ = tokio::time::timeout(Duration::from_millis(2), part.as_mut()).await;
            }
        }
        let ended = lease.end(Keep::Keep, super::support::record("s", polls)).await;
        // Cut off while it began, the whole call is undone.
        let count = fixture.database.count(NOTES_COUNT).await;
        assert_eq!(count, 0, "after {polls} polls: {ended:?}");
    }
    fixture.call(99, Keep::Keep, async |db| note(db, 99).await.unwrap()).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_panics_is_undone_alone() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let ended = fixture.call(1, Keep::Keep, async |db| {
        let panics = std::panic::AssertUnwindSafe(pg_savepoint(&mut *db, async |db| {
            note(db, 1).await.unwrap();
            if db_is_there() {
                panic!("on purpose");
            }
            Ok::<(), sqlx::Error>(())
        }));
        futures_util::FutureExt::catch_unwind(panics).await.unwrap_err();
        note(db, 2).await.unwrap();
    });
    ended.await.unwrap();
    assert_eq!(fixture.database.count("SELECT sum(call)::bigint FROM notes").await, 2);
    fixture.close().await;
}

const fn db_is_there() -> bool {
    true
}
