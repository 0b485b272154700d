//! Two imports at once, or an import beside a turn, never mix.

use std::sync::Arc;

use madang::{Error, TurnOptions, error::Bound, session::Imported};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use tokio::sync::Barrier;

use super::{HISTORY, history, messages, session_of, under_way, words};
use crate::support::TestRuntime;

fn talks() -> ScriptedModel {
    ScriptedModel::repeating([ScriptedCompletion::text("Hello.")])
}

/// Histories of two clients, told apart by each of their texts.
fn of_client(name: &str) -> Vec<Imported> {
    (0..20).map(|number| Imported::user(format!("{name} {number}"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_imports_at_once_one_wins_whole() {
    let test = TestRuntime::new(talks()).await;
    for round in 0..50 {
        let session =
            test.runtime.user("kim").unwrap().session(&format!("chat {round}")).await.unwrap();
        let start = Arc::new(Barrier::new(3));
        let imports = ["one", "two", "three"].map(|name| {
            let session = session.clone();
            let start = start.clone();
            tokio::spawn(async move {
                start.wait().await;
                (name, session.import(of_client(name)).await)
            })
        });
        let mut winners = Vec::new();
        for import in imports {
            match import.await.unwrap() {
                (name, Ok(_)) => winners.push(name),
                (_, Err(Error::Busy | Error::HasBegun)) => {}
                (name, Err(other)) => panic!("{name}: {other:?}"),
            }
        }
        let [winner] = winners.as_slice() else { panic!("one wins, not {winners:?}") };
        let texts: Vec<_> =
            (0..20).map(|number| format!("user {winner} {number} (imported)")).collect();
        assert_eq!(words(&messages(&session).await), texts);
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_turn_beside_an_import_comes_behind_it_or_keeps_it_out() {
    let test = TestRuntime::new(talks()).await;
    for round in 0..50 {
        let session =
            test.runtime.user("kim").unwrap().session(&format!("chat {round}")).await.unwrap();
        let start = Arc::new(Barrier::new(2));
        let import = {
            let session = session.clone();
            let start = start.clone();
            tokio::spawn(async move {
                start.wait().await;
                session.import(history()).await
            })
        };
        start.wait().await;
        let asked = session.send_with("hi", TurnOptions::default()).await;
        let imported = import.await.unwrap();
        let asked = match asked {
            Ok(turn) => turn.ended().await.is_ok(),
            Err(Error::Busy) => false,
            Err(other) => panic!("{other:?}"),
        };
        let said = ["user hi", "model Hello."];
        let expected = match (&imported, asked) {
            (Ok(_), true) => [&HISTORY[..], &said].concat(),
            (Ok(_), false) => HISTORY.to_vec(),
            (Err(Error::Busy | Error::HasBegun), true) => said.to_vec(),
            other => panic!("{other:?}"),
        };
        assert_eq!(words(&messages(&session).await), expected);
    }
    test.shutdown().await;
}

#[tokio::test]
async fn nothing_begins_while_a_history_is_being_stored() {
    let test = TestRuntime::new(talks()).await;
    let session = session_of(&test).await;
    let (import, paused) = under_way(&test, &session).await;
    assert!(matches!(session.send("hi").await, Err(Error::Busy)));
    assert!(matches!(session.clear().await, Err(Error::Busy)));
    assert!(matches!(session.import(history()).await, Err(Error::Busy)));
    assert_eq!(words(&messages(&session).await), [""; 0], "it is not stored yet");
    drop(paused);
    import.await.unwrap().unwrap();
    session.send("hi").await.unwrap().ended().await.unwrap();
    test.shutdown().await;
}

#[tokio::test]
async fn a_session_does_not_make_room_for_another_while_a_history_is_being_stored() {
    let limits = madang::Limits { max_awake_sessions: 1, ..madang::Limits::default() };
    let test = TestRuntime::with_limits(talks(), limits).await;
    let (session, other) =
        (session_of(&test).await, test.runtime.user("kim").unwrap().session("2").await.unwrap());
    let (import, paused) = under_way(&test, &session).await;
    let refused = other.state().await;
    let Err(Error::Overloaded(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.bound, Bound::AwakeSessions);
    drop(paused);
    import.await.unwrap().unwrap();
    other.state().await.expect("there is room now");
    test.shutdown().await;
}

#[tokio::test]
async fn a_shutdown_waits_while_a_history_is_being_stored() {
    let test = TestRuntime::new(talks()).await;
    let session = session_of(&test).await;
    let (import, paused) = under_way(&test, &session).await;
    let runtime = test.runtime.clone();
    let shutdown = tokio::spawn(async move { runtime.shutdown().await });
    while !matches!(session.import(history()).await, Err(Error::Closed)) {
        tokio::task::yield_now().await;
    }
    drop(paused);
    import.await.unwrap().expect("its caller is told that it is stored");
    shutdown.await.unwrap().unwrap();
    let stored = madang::store::Store::session(&test.store, session.id()).await.unwrap().unwrap();
    assert_eq!(words(&stored.messages), HISTORY);
}
