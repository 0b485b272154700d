//! Cuts handlers off at random polls while plain writers write: exactly the rows exist whose
//! callers received success.

use std::{future::poll_fn, sync::Arc};

use madang_actors::store::{Keep, Lease};
use sqlx::Connection;
use tokio::task::JoinSet;

use super::support::{StoreFixture, db, note, record, say};

const WRITERS: u64 = 16;
const CALLS_EACH: u64 = 24;

/// Gives the same sequence of random-looking numbers each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Writes three notes, each in another way, some in transactions of its own.
async fn handler(lease: &mut Lease, call: u64) -> sqlx::Result<()> {
    let db = db(lease);
    for _ in 0..3 {
        match call % 4 {
            0 => {
                sqlx::query("SAVEPOINT mine").execute(&mut *db).await?;
                note(db, call).await?;
                sqlx::query("RELEASE mine").execute(&mut *db).await?;
            }
            1 => {
                let mut inner = db.begin().await?;
                note(&mut inner, call).await?;
                inner.commit().await?;
            }
            2 => {
                let mut inner = db.begin_with("SAVEPOINT mine").await?;
                note(&mut inner, call).await?;
                inner.commit().await?;
            }
            _ => note(db, call).await?,
        }
    }
    Ok(())
}

/// Polls the handler this often, then drops its future. True if it ended.
async fn cut_off(lease: &mut Lease, call: u64, polls: u64, spins: u64) -> bool {
    let mut running = Box::pin(handler(lease, call));
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            // Lets SQLite's thread run for a while, so that the cut meets every state.
            (0..spins).for_each(|_| std::hint::spin_loop());
            return std::task::Poll::Ready(false);
        }
        left -= 1;
        running.as_mut().poll(cx).map(|end| end.is_ok())
    })
    .await
}

#[derive(Default)]
struct Tally {
    kept: Vec<u64>,
    undone: u64,
    said: u64,
    refused: u64,
}

async fn writer(fixture: Arc<StoreFixture>, number: u64) -> Tally {
    let name = format!("s{number}");
    fixture.chat(&name).await;
    let mut dice = Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut tally = Tally::default();
    for turn in 0..CALLS_EACH {
        let call = number * 1_000 + turn;
        let seq = 2 * turn + 1;
        let mut lease = fixture.lease("adversary").await;
        let polls = dice.next(24);
        let spins = dice.next(3_000);
        let ended = cut_off(&mut lease, call, polls, spins).await;
        match (ended, dice.next(3)) {
            (true, _) => match lease.end(Keep::Keep, record(&name, seq)).await {
                Ok(()) => tally.kept.push(call),
                Err(error) if error.may_have_happened() => {
                    panic!("a commit without an answer: {error}")
                }
                Err(_) => tally.refused += 1,
            },
            (false, 0) => drop(lease),
            (false, _) => {
                lease
                    .end(Keep::Undo, record(&name, seq))
                    .await
                    .expect("the record is written without the handler's rows");
                tally.undone += 1;
            }
        }
        fixture
            .handle
            .write(say(&name, seq + 1))
            .await
            .expect("a plain write beside cut-off handlers");
        tally.said += 1;
    }
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[expect(clippy::print_stdout, reason = "shown by a failing test only")]
async fn handlers_cut_off_at_random_polls_leave_no_ghosts_and_cost_no_other_row() {
    let fixture = Arc::new(StoreFixture::new().await);
    let mut writers: JoinSet<Tally> =
        (0..WRITERS).map(|number| writer(fixture.clone(), number)).collect();
    let mut all = Tally::default();
    while let Some(tally) = writers.join_next().await {
        let tally = tally.unwrap();
        all.kept.extend(tally.kept);
        all.undone += tally.undone;
        all.said += tally.said;
        all.refused += tally.refused;
    }
    let kept = all.kept.len() as u64;
    println!("kept {kept}, undone {}, spoiled by a neighbour {}", all.undone, all.refused);
    assert!(kept > 0 && all.undone > 0, "the dice met both cases");
    let said = "SELECT count(*) FROM madang_messages WHERE content IS NOT NULL";
    assert_eq!(fixture.count(said).await, all.said.cast_signed(), "no plain write was lost");
    assert_eq!(
        fixture.count("SELECT count(*) FROM madang_calls").await,
        (kept + all.undone).cast_signed()
    );
    assert_eq!(
        fixture.count("SELECT count(*) FROM notes").await,
        3 * kept.cast_signed(),
        "three notes a kept call"
    );
    let torn = "SELECT count(*) FROM (SELECT call FROM notes GROUP BY call HAVING count(*) <> 3)";
    assert_eq!(fixture.count(torn).await, 0);

    let mut lease = fixture.lease("check").await;
    let noted: Vec<i64> = sqlx::query_scalar("SELECT DISTINCT call FROM notes ORDER BY call")
        .fetch_all(db(&mut lease))
        .await
        .unwrap();
    drop(lease);
    all.kept.sort_unstable();
    assert_eq!(
        noted,
        all.kept.iter().map(|call| call.cast_signed()).collect::<Vec<_>>(),
        "exactly those that were told"
    );
    Arc::into_inner(fixture).expect("all writers have ended").close().await;
}
