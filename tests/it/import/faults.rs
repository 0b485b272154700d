//! An import whose store fails or whose actor is lost is there as a whole, or not at all. Its
//! caller is told which.

use madang::{
    Error,
    event::{EventKind, StreamItem, Subscription, TurnEnding},
    store::Store as _,
};
use madang_testing::{Probe, SessionHooks as _};

use super::{HISTORY, empty_chat, history, messages, under_way, words};
use crate::support::PATIENCE;

#[tokio::test]
async fn a_history_that_was_not_stored_can_be_imported_again() {
    let (test, session) = empty_chat().await;
    for loses in [false, true] {
        if loses {
            test.store.lose_next_commit()
        } else {
            test.store.fail_next_commit()
        }
        let refused = session.import(history()).await;
        assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
        assert_eq!(words(&messages(&session).await), [""; 0]);
    }
    session.import(history()).await.unwrap();
    assert_eq!(words(&messages(&session).await), HISTORY);
    test.shutdown().await;
}

#[tokio::test]
async fn a_history_whose_commit_lost_its_reply_is_told_as_it_happened() {
    let (test, session) = empty_chat().await;
    let mut probe = Probe::new(session.subscribe());
    test.store.lose_next_commit_reply();
    session.import(history()).await.expect("the store has it");
    probe.until_turns_ended(1).await;
    assert_eq!(probe.events().len(), 5, "each message once, and the end:\n{}", probe.lines());
    assert_eq!(words(&messages(&session).await), HISTORY);
    test.shutdown().await;
}

#[tokio::test]
async fn readers_hear_a_history_once_though_its_actor_was_lost_on_the_way() {
    let (test, session) = empty_chat().await;
    let mut reader = session.subscribe();
    let (import, paused) = under_way(&test, &session).await;
    session.kill();
    drop(paused);
    let refused = import.await.unwrap();
    assert!(matches!(refused, Err(Error::Closed)), "it is not known: {refused:?}");
    assert_eq!(words(&messages(&session).await), HISTORY, "it was on its way");
    assert_eq!(heard(&mut reader).await, HISTORY.len());
    let refused = session.import(history()).await;
    assert!(matches!(refused, Err(Error::HasBegun)), "{refused:?}");
    let stored = test.store.session(session.id()).await.unwrap().unwrap();
    assert!(stored.open_turn.is_none(), "nothing of it goes on");
    assert!(session.turn().await.unwrap().is_none());
    test.shutdown().await;
}

/// Counts the messages that are told until a turn ends.
async fn heard(reader: &mut Subscription) -> usize {
    let mut messages = 0;
    loop {
        let item = tokio::time::timeout(PATIENCE, reader.next()).await.expect("it comes in time");
        let Some(StreamItem::Event(event)) = item else { panic!("{item:?}") };
        if let EventKind::TurnEnded { ending: TurnEnding::Answered, .. } = event.kind {
            return messages;
        }
        let is_message =
            matches!(event.kind, EventKind::UserMessage { .. } | EventKind::ModelMessage { .. });
        assert!(is_message, "{event:?}");
        messages += 1;
    }
}
