//! Tests handlers that were cut off while a statement of theirs was running.

use std::time::Duration;

use madang_actors::store::Keep;
use tokio::time::{Instant, timeout};

use super::support::{ENDED, NOTES_COUNT, StoreFixture, db, needs_server, note, record, say};

/// Begins a statement that takes longer than any test, and drops it.
async fn leave_running(db: &mut sqlx::PgConnection) {
    let sleeps = sqlx::query("SELECT pg_sleep(300)").execute(db);
    assert!(timeout(Duration::from_millis(50), sleeps).await.is_err());
}

const NOBODY_SLEEPS: &str = "SELECT (NOT EXISTS (SELECT 1 FROM pg_stat_activity \
    WHERE datname = current_database() AND wait_event = 'PgSleep'))::int::bigint";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_handler_left_running_ends_and_the_call_is_recorded_without_its_writes() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let began = Instant::now();
    let ended = fixture.call(1, Keep::Undo, async |db| {
        note(db, 1).await.unwrap();
        leave_running(db).await;
    });
    ended.await.expect("its end is recorded");
    fixture.database.until(NOBODY_SLEEPS).await;
    // The server would end it after ten seconds, whoever waits for it.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 1);
    fixture.handle.write(say("s", 2)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_says_it_is_done_with_a_statement_running_is_not_recorded() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        note(db, 1).await.unwrap();
        leave_running(db).await;
    });
    assert!(told.await.is_err());
    fixture.database.until(NOBODY_SLEEPS).await;
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 0);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_statement_that_was_left_running_counts_with_the_others() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for number in 1..20_u64 {
        let mut lease = fixture.lease().await;
        let handler = async {
            let db = db(&mut lease);
            for _ in 0..3 {
                note(&mut *db, number).await.unwrap();
            }
        };
        let _ = timeout(Duration::from_micros(300 * number), handler).await;
        let keep = if number % 2 == 0 { Keep::Keep } else { Keep::Undo };
        let ended = lease.end(keep, record("s", number)).await;
        let notes: i64 = sqlx::query_scalar("SELECT count(*) FROM notes WHERE call = $1")
            .bind(number.cast_signed())
            .fetch_one(&mut fixture.database.other_program().await)
            .await
            .unwrap();
        if keep == Keep::Undo || ended.is_err() {
            assert_eq!(notes, 0, "{number}: {ended:?}");
        }
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_dropped_leaves_nothing() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut lease = fixture.lease().await;
    note(db(&mut lease), 1).await.unwrap();
    leave_running(db(&mut lease)).await;
    drop(lease);
    fixture.handle.write(say("s", 1)).await.unwrap();
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    fixture.close().await;
}
