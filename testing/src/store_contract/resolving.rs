//! Promises about unknown effects.

use super::facts::{
    at, call, calls, chat, ok, proposed, refused, row, running, session, step, stored, user,
    written,
};
use madang_actors::{
    ledger::{Ended, Transition},
    port::{LedgerFilter, Store},
    protocol::{Content, Effect, EffectResolution, ResolvedBy, ToolOutcome},
};

/// An unknown effect is resolved once, and the first finding counts. The row and the transcript
/// show it with the outcome.
pub async fn an_unknown_effect_is_resolved_once(store: &dyn Store) {
    use EffectResolution::{DidNot, TookEffect};
    chat(store, "s").await;
    let timeout = ToolOutcome::error("timeout", "too late");
    let unknown = Ended { outcome: timeout.clone(), effect: Effect::Unknown, ..ok("") };
    for (seq, resolution, by) in [
        (1, TookEffect, ResolvedBy::Handler),
        (2, DidNot, ResolvedBy::Handler),
        (3, TookEffect, by_person("kim")),
        (4, DidNot, by_person("kim")),
    ] {
        let number = u128::from(seq);
        let resolves = resolved(resolution, by.clone());
        for before in [proposed(seq), running(7)] {
            written(store, &[step("s", number, 3, before)]).await;
            refused(store, &[step("s", number, 4, resolves.clone())]).await;
        }
        written(store, &[step("s", number, 4, Transition::Ended(unknown.clone()))]).await;
        written(store, &[step("s", number, 5, resolves.clone())]).await;
        for again in [
            resolves,
            resolved(TookEffect, ResolvedBy::Handler),
            resolved(DidNot, ResolvedBy::Handler),
            resolved(TookEffect, by_person("kim")),
            resolved(DidNot, by_person("kim")),
        ] {
            refused(store, &[step("s", number, 6, again)]).await;
        }
        let found = row(store, number).await;
        assert_eq!(
            (found.outcome, found.effect, found.ended_at, found.resolved_by, found.resolved_at),
            (
                Some(timeout.clone()),
                Some(resolution.effect()),
                Some(at(4)),
                Some(by.clone()),
                Some(at(5))
            )
        );
        let messages = stored(store, "s").await.messages;
        let Some(Content::ToolCall(record)) = messages.last().map(|last| &last.content) else {
            panic!("the call is in the transcript: {messages:?}");
        };
        assert_eq!((record.effect, &record.resolved_by), (resolution.effect(), &Some(by)));
    }
}

/// Only an unknown effect is resolved, and of all people only the call's user may resolve it.
pub async fn only_an_unknown_effect_is_resolved_and_by_the_calls_user(store: &dyn Store) {
    chat(store, "s").await;
    let end = |effect| Transition::Ended(Ended { effect, ..ok("") });
    for (seq, effect) in [(1, Effect::None), (2, Effect::Committed), (3, Effect::Unknown)] {
        let number = u128::from(seq);
        let steps = [proposed(seq), running(7), end(effect)];
        for before in steps {
            written(store, &[step("s", number, 2, before)]).await;
        }
        for resolution in [EffectResolution::TookEffect, EffectResolution::DidNot] {
            refused(store, &[step("s", number, 3, resolved(resolution, by_person("lee")))]).await;
            if effect != Effect::Unknown {
                let kim = resolved(resolution, by_person("kim"));
                refused(store, &[step("s", number, 3, kim)]).await;
                let handler = resolved(resolution, ResolvedBy::Handler);
                refused(store, &[step("s", number, 3, handler)]).await;
            }
        }
        assert_eq!(
            (row(store, number).await.effect, row(store, number).await.resolved_by),
            (Some(effect), None)
        );
    }
    let only_unknown = LedgerFilter::unresolved().in_session(&session("s"));
    assert_eq!(calls(store, &only_unknown).await, [call(3)]);
    written(store, &[step("s", 3, 4, resolved(EffectResolution::DidNot, by_person("kim")))]).await;
    assert_eq!(calls(store, &only_unknown).await, []);
}

fn resolved(resolution: EffectResolution, by: ResolvedBy) -> Transition {
    Transition::Resolved { resolution, by }
}

fn by_person(name: &str) -> ResolvedBy {
    ResolvedBy::Person { user: user(name) }
}
