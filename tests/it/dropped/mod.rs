//! Any future of the public API may be dropped, after any of its polls. Nothing is lost, nothing is
//! done twice, nothing is left running, and the session goes on.
//!
//! `fixture` polls a future so many times and drops it, from no poll up to its end. Then it checks
//! what the store has, that no task is left, and that the session answers the next text.
#![cfg(feature = "sqlite")]

mod fixture;

use std::time::Duration;

use madang::{
    Call, Error, IdempotencyKey, Limits, Runtime, TurnOptions,
    approval::{Approver, Decision},
    error::DecisionError,
    event::{EventCursor, EventKind, StreamItem, TurnEnding},
    ledger::{Effect, EffectResolution, LedgerFilter},
    store::{SqliteStore, Store},
};
use madang_testing::{Probe, RuntimeHooks as _, ScriptedCompletion, ScriptedModel};
use sqlx::SqliteConnection;

use crate::support::{dispatched, kim};

use fixture::{
    StoreFixture, after_every_poll, builder, dropped_after, free, goes_on, tools, until,
};

#[tokio::test]
async fn ask_dropped_begins_a_turn_that_comes_to_its_end_or_none() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let begun = dropped_after(polls, session.send("go")).await;
        fixture.resolved().await;
        let messages = session.state().await.unwrap().messages.len();
        // User, call, answer: or nothing at all.
        assert_eq!(
            (messages, fixture.effects(&session).await),
            if messages == 0 { (0, 0) } else { (3, 1) }
        );
        goes_on(&session).await;
        begun.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn following_a_turn_dropped_leaves_the_turn_running() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let turn = session.send("go").await.unwrap();
        let end = dropped_after(polls, turn.ended()).await;
        goes_on(&session).await;
        assert_eq!(fixture.effects(&session).await, 2);
        end.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn answer_dropped_counts_once_or_not_at_all() {
    let fixture = StoreFixture::new("save_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.send("go").await.unwrap();
        let request = probe.approval_request().await;
        let approved = dropped_after(polls, session.decide(&request, Decision::Approve)).await;
        let rows = match session.decide(&request, Decision::Deny).await {
            Ok(()) => 0,
            Err(DecisionError::NotOpen) => 1,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
        assert_eq!(fixture.effects(&session).await, rows);
        approved.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn dismiss_dropped_dismisses_the_turn_or_does_not() {
    let fixture = StoreFixture::new("save_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.send("go").await.unwrap();
        probe.approval_request().await;
        let dismissed = dropped_after(polls, session.dismiss()).await;
        match session.dismiss().await {
            Ok(_) | Err(Error::NoTurn) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
        assert_eq!(fixture.effects(&session).await, 0);
        dismissed.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn clear_dropped_clears_the_chat_or_does_not() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        goes_on(&session).await;
        let cleared = dropped_after(polls, session.clear()).await;
        until(async || match session.clear().await {
            Ok(()) => true,
            Err(Error::Busy) => false,
            Err(error) => panic!("{error}"),
        })
        .await;
        assert!(session.state().await.unwrap().messages.is_empty());
        goes_on(&session).await;
        assert_eq!(fixture.effects(&session).await, 2);
        cleared.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn ask_dropped_and_asked_again_under_its_key_is_one_turn() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let key = Some(IdempotencyKey::new("one").unwrap());
        let ask =
            || session.send_with("go", TurnOptions { key: key.clone(), ..TurnOptions::default() });
        let begun = dropped_after(polls, ask()).await;
        assert_eq!(ask().await.unwrap().ended().await.unwrap().ending, TurnEnding::Answered);
        assert_eq!(session.state().await.unwrap().messages.len(), 3);
        assert_eq!(fixture.effects(&session).await, 1);
        begun.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn revoke_dropped_ends_the_standing_approval_or_does_not() {
    let fixture = StoreFixture::new("save_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.send("go").await.unwrap();
        let request = probe.approval_request().await;
        session.decide(&request, Decision::ApproveAlways).await.unwrap();
        turn.ended().await.unwrap();
        let seen = dropped_after(polls, session.standing_approvals()).await;
        let revoked = dropped_after(polls, session.revoke("save_row")).await;
        session.revoke("save_row").await.unwrap();
        assert!(session.standing_approvals().await.unwrap().is_empty());
        let turn = session.send("again").await.unwrap();
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Deny).await.unwrap();
        turn.ended().await.unwrap();
        assert_eq!(fixture.effects(&session).await, 1);
        seen.is_some() && revoked.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn resolve_dropped_resolves_the_call_once_or_not_at_all() {
    let fixture = StoreFixture::new("lose_track").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        session.send("go").await.unwrap().ended().await.unwrap();
        let seen = dropped_after(polls, session.unresolved()).await;
        let unresolved = session.unresolved().await.unwrap();
        assert_eq!(unresolved.len(), 1);
        let call = unresolved[0].call;
        let resolved = dropped_after(polls, session.resolve(call, EffectResolution::DidNot)).await;
        let again = session.resolve(call, EffectResolution::DidNot).await;
        assert!(
            matches!(again, Ok(()) | Err(Error::NotUnknown { effect: Some(Effect::None) })),
            "{again:?}"
        );
        assert!(session.unresolved().await.unwrap().is_empty());
        goes_on(&session).await;
        seen.is_some() && resolved.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn coming_back_dropped_reads_the_same_from_there_the_next_time() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let name = format!("s{polls}");
        let session = fixture.session(polls).await;
        session.send("go").await.unwrap().ended().await.unwrap();
        drop(session);
        let session = fixture.runtime.user("kim").unwrap().session(&name).await.unwrap();
        let back = dropped_after(polls, session.subscribe_after(EventCursor::START)).await;
        let mut events = session.subscribe_after(EventCursor::START).await.unwrap();
        let mut entries = Vec::new();
        while entries.len() < 4 {
            let Some(StreamItem::Event(event)) = events.next().await else { continue };
            // The store does not keep what was proposed.
            if !matches!(event.kind, EventKind::ToolCallProposed { .. }) {
                entries.push(event.cursor.entry());
            }
        }
        // User, call, answer, end.
        assert_eq!(entries, [1, 2, 3, 3]);
        goes_on(&session).await;
        back.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn a_transaction_dropped_is_committed_once_or_not_begun() {
    let fixture = StoreFixture::new("add_row").await;
    let own = "SELECT count(*) FROM own";
    after_every_poll(async |polls| {
        let before = fixture.count(own).await;
        let run = async |db: &mut SqliteConnection| {
            sqlx::query("INSERT INTO own VALUES (1)").execute(db).await
        };
        let ended = dropped_after(polls, fixture.runtime.transaction(run)).await;
        fixture.resolved().await;
        let written = fixture.count(own).await - before;
        assert_eq!(written, i64::from(polls > 0));
        ended.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn resuming_dropped_leaves_turns_that_go_on_when_their_session_is_opened() {
    after_every_poll(async |polls| {
        let fixture = StoreFixture::new("save_row").await;
        for id in 0..2 {
            let session = fixture.session(id).await;
            let mut probe = Probe::new(session.subscribe());
            session.send("go").await.unwrap();
            probe.approval_request().await;
        }
        fixture.runtime.shutdown().await.unwrap();
        let store = SqliteStore::open(fixture.folder.path().join("store.db")).await.unwrap();
        let model = ScriptedModel::repeating([ScriptedCompletion::text("Done.")]);
        let builder = Runtime::builder().model(model).store(store.clone()).tools(tools());
        let runtime = builder.start().await.unwrap();
        let fixture = StoreFixture { runtime, store, folder: fixture.folder };
        let resumed = dropped_after(polls, fixture.runtime.resume_open()).await;
        for id in 0..2 {
            let session = fixture.session(id).await;
            // Opening it is enough: nothing is sent to it that would wake it.
            let request = Probe::new(session.subscribe()).approval_request().await;
            session.decide(&request, Decision::Approve).await.unwrap();
            if let Some(turn) = session.turn().await.unwrap() {
                turn.ended().await.unwrap();
            }
            assert_eq!(fixture.effects(&session).await, 1);
        }
        fixture.close().await;
        resumed.is_some()
    })
    .await;
}

#[tokio::test]
async fn opening_a_session_dropped_leaves_one_that_can_be_opened() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let id = format!("o{polls}");
        let opened = dropped_after(polls, fixture.runtime.user("kim").unwrap().session(&id)).await;
        let session = fixture.runtime.user("kim").unwrap().session(&id).await.unwrap();
        let state = dropped_after(polls, session.state()).await;
        let running = dropped_after(polls, session.turn()).await;
        let filter = LedgerFilter::default();
        let calls = dropped_after(polls, fixture.runtime.ledger(&filter)).await;
        goes_on(&session).await;
        assert_eq!(session.state().await.unwrap().messages.len(), 3);
        opened.is_some() && state.is_some() && running.is_some() && calls.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn dispatch_dropped_leaves_the_call_running_to_its_end() {
    // The answer is lost with the future that would have given it: the question expires.
    let limits = Limits { decision_timeout: Duration::from_millis(100), ..Limits::default() };
    let fixture = StoreFixture::with_limits("add_row", limits).await;
    for (name, decision) in [("add_row", None), ("save_row", Some(Decision::Approve))] {
        after_every_poll(async |polls| {
            let before = fixture.rows().await.len();
            let confirm = decision.clone().map_or(Approver::None, Approver::Decided);
            let call = Call::new(kim(), name, "{}").approver(confirm);
            let ended = dropped_after(polls, dispatched(&fixture.runtime, call)).await;
            fixture.resolved().await;
            let written = fixture.rows().await.len() - before;
            assert!(written <= 1 && (ended.is_none() || written == 1));
            ended.is_some()
        })
        .await;
    }
    fixture.close().await;
}

#[tokio::test]
async fn the_next_event_dropped_is_read_by_the_next_reader() {
    let fixture = StoreFixture::new("add_row").await;
    after_every_poll(async |polls| {
        let session = fixture.session(polls).await;
        let mut events = session.subscribe();
        let turn = session.send("go").await.unwrap();
        let first = dropped_after(polls, events.next()).await;
        turn.ended().await.unwrap();
        let mut items: Vec<StreamItem> = first.iter().flatten().cloned().collect();
        while let Some(item) = events.try_next() {
            items.push(item);
        }
        let numbers = items.iter().filter_map(|item| match item {
            StreamItem::Event(event) => Some(event.seq),
            StreamItem::Text { .. } | StreamItem::Thinking { .. } => None,
            StreamItem::Lagged { .. } | StreamItem::ReplayFailed | _ => panic!("nothing is missed"),
        });
        let numbers: Vec<u64> = numbers.collect();
        assert!(numbers.len() >= 4, "{items:?}");
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        first.is_some()
    })
    .await;
    fixture.close().await;
}

#[tokio::test]
async fn shutdown_dropped_can_be_asked_for_again() {
    after_every_poll(async |polls| {
        let fixture = StoreFixture::new("add_row").await;
        let sessions = [fixture.session(0).await, fixture.session(1).await];
        let turns = [sessions[0].send("go").await.unwrap(), sessions[1].send("go").await.unwrap()];
        let ended = dropped_after(polls, fixture.runtime.shutdown()).await;
        if polls > 0 {
            assert!(matches!(sessions[0].send("no").await, Err(Error::Closed)));
        }
        fixture.runtime.shutdown().await.unwrap();
        assert_eq!(fixture.runtime.running_tasks(), 0);
        drop(turns);
        // Whatever was told to be in the store is there, and the database is free.
        let StoreFixture { folder, .. } = fixture;
        let again = SqliteStore::open(folder.path().join("store.db")).await.unwrap();
        again.close().await;
        ended.is_some()
    })
    .await;
}

#[tokio::test]
async fn starting_dropped_leaves_the_database_free() {
    after_every_poll(async |polls| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let opened = dropped_after(polls, SqliteStore::open(&path).into_future()).await;
        let has_opened = opened.is_some();
        drop(opened);
        let store = free(&path).await;
        let started = dropped_after(polls, builder(store.clone(), "add_row").start()).await;
        let has_started = started.is_some();
        if let Some(runtime) = started {
            runtime.unwrap().shutdown().await.unwrap();
        }
        drop(store);
        free(&path).await.close().await;
        has_opened && has_started
    })
    .await;
}
