//! What a store promises of effects that were unknown.

use super::facts::{
    at, call, chat, ok, proposed, refused, row, running, session, step, stored, user, written,
};
use madang_actors::{
    ledger::{Ended, Transition},
    port::{LedgerFilter, Store},
    protocol::{Content, Effect, SettledBy, Settlement, ToolOutcome},
};

/// What an unknown effect turned out to be is recorded once, whoever finds out first and whatever the second says: in the
/// row and in the transcript, beside the outcome that had been told.
pub async fn an_unknown_effect_is_settled_once(store: &dyn Store) {
    use Settlement::{DidNot, TookEffect};
    chat(store, "s").await;
    let timeout = ToolOutcome::error("timeout", "too late");
    let unknown = Ended { outcome: timeout.clone(), effect: Effect::Unknown, ..ok("") };
    for (seq, settlement, by) in [
        (1, TookEffect, SettledBy::Handler),
        (2, DidNot, SettledBy::Handler),
        (3, TookEffect, by_person("kim")),
        (4, DidNot, by_person("kim")),
    ] {
        let (number, settles) = (u128::from(seq), settled(settlement, by.clone()));
        for before in [proposed(seq), running(7)] {
            written(store, &[step("s", number, 3, before)]).await;
            refused(store, &[step("s", number, 4, settles.clone())]).await;
        }
        written(store, &[step("s", number, 4, Transition::Ended(unknown.clone()))]).await;
        written(store, &[step("s", number, 5, settles.clone())]).await;
        for again in [
            settles,
            settled(TookEffect, SettledBy::Handler),
            settled(DidNot, SettledBy::Handler),
            settled(TookEffect, by_person("kim")),
            settled(DidNot, by_person("kim")),
        ] {
            refused(store, &[step("s", number, 6, again)]).await;
        }
        let found = row(store, number).await;
        assert_eq!(
            (found.outcome, found.effect, found.ended_at, found.settled_by, found.settled_at),
            (
                Some(timeout.clone()),
                Some(settlement.effect()),
                Some(at(4)),
                Some(by.clone()),
                Some(at(5))
            )
        );
        let messages = stored(store, "s").await.messages;
        let Some(Content::ToolCall(record)) = messages.last().map(|last| &last.content) else {
            panic!("the call is in the transcript: {messages:?}");
        };
        assert_eq!((record.effect, &record.settled_by), (settlement.effect(), &Some(by)));
    }
}

/// An effect that is known is nobody's to settle, and an unknown one only its user's among people.
pub async fn only_an_unknown_effect_is_settled_and_by_the_calls_user(store: &dyn Store) {
    chat(store, "s").await;
    let end = |effect| Transition::Ended(Ended { effect, ..ok("") });
    for (seq, effect) in [(1, Effect::None), (2, Effect::Committed), (3, Effect::Unknown)] {
        let (number, steps) = (u128::from(seq), [proposed(seq), running(7), end(effect)]);
        for before in steps {
            written(store, &[step("s", number, 2, before)]).await;
        }
        for settlement in [Settlement::TookEffect, Settlement::DidNot] {
            refused(store, &[step("s", number, 3, settled(settlement, by_person("lee")))]).await;
            if effect != Effect::Unknown {
                let kim = settled(settlement, by_person("kim"));
                refused(store, &[step("s", number, 3, kim)]).await;
                let handler = settled(settlement, SettledBy::Handler);
                refused(store, &[step("s", number, 3, handler)]).await;
            }
        }
        assert_eq!(
            (row(store, number).await.effect, row(store, number).await.settled_by),
            (Some(effect), None)
        );
    }
    let only_unknown =
        LedgerFilter { session: Some(session("s")), only_unknown: true, ..LedgerFilter::default() };
    let unknown = async || {
        let rows = store.calls(&only_unknown).await.expect("the store can be read");
        rows.into_iter().map(|row| row.call).collect::<Vec<_>>()
    };
    assert_eq!(unknown().await, [call(3)]);
    written(store, &[step("s", 3, 4, settled(Settlement::DidNot, by_person("kim")))]).await;
    assert_eq!(unknown().await, []);
}

fn settled(settlement: Settlement, by: SettledBy) -> Transition {
    Transition::Settled { settlement, by }
}

fn by_person(name: &str) -> SettledBy {
    SettledBy::Person { user: user(name) }
}
