//! Promises about the chain of hashes.

use super::facts::{
    OpenTransaction, at, awaiting, began, call, chat, ok, opened, proposed, proposed_in, refused,
    running, session, step, verified, written,
};
use madang_actors::{
    ledger::{ChainEnd, Ended, Transition, verify},
    port::Store,
    protocol::{Effect, ToolOutcome},
};

/// The links verify, and the row of the session has their end.
pub async fn the_chain_verifies_and_ends_where_the_session_says(store: &dyn Store) {
    chat(store, "s").await;
    let (links, end) = store.links(&session("s")).await.expect("the store can be read");
    assert_eq!((links, end), (vec![], ChainEnd::EMPTY));

    let steps = [
        (1, proposed(1)),
        (2, proposed(2)),
        (1, running(7)),
        (1, Transition::Ended(ok("수면"))),
        (2, awaiting(8)),
    ];
    for (number, transition) in &steps {
        written(store, &[step("s", *number, 5, transition.clone())]).await;
    }
    let (links, end) = store.links(&session("s")).await.expect("the store can be read");
    let found: Vec<_> = links.iter().map(|link| (link.call, link.transition.clone())).collect();
    assert_eq!(found, steps.map(|(number, transition)| (call(number), transition)));
    assert_eq!(end.length, 5);
    assert_eq!(verify(&session("s"), &links, &end), Ok(()));

    let mut forged = links;
    forged[2].at = at(6);
    assert!(verify(&session("s"), &forged, &end).is_err());
}

/// A refused or undone step is no link, and the next one follows the last kept link.
pub async fn an_undone_step_leaves_no_gap_in_the_chain(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&[step("s", 1, 5, proposed(1))]).await;
    transaction.part(&[step("s", 2, 5, proposed(2))]).await;
    transaction.undo().await;
    transaction.kept(&[step("s", 1, 5, running(7))]).await;
    transaction.commit().await;
    refused(store, &[step("s", 2, 6, running(7))]).await;
    let unrun = Ended { effect: Effect::None, ..ok("done") };
    written(store, &[step("s", 1, 7, Transition::Ended(unrun))]).await;

    assert_eq!(verified(store, "s").await.len(), 3);
}

/// Each session has its own chain.
pub async fn chains_of_two_sessions_do_not_mix(store: &dyn Store) {
    for (name, number) in [("s", 1), ("t", 2)] {
        let writes = [opened(name, "kim"), began(name, number)];
        written(store, &writes).await;
    }
    for seq in 1..4 {
        for (name, number) in [("s", 1), ("t", 2)] {
            let id = u128::from(seq) * 10 + number;
            written(store, &[step(name, id, 5, proposed_in(number, seq))]).await;
        }
    }
    for name in ["s", "t"] {
        assert_eq!(verified(store, name).await.len(), 3);
    }
}

/// Values hash to the same after a read, with numbers of every kind.
pub async fn every_number_survives_in_the_chain(store: &dyn Store) {
    chat(store, "s").await;
    let mut numbers: Vec<f64> =
        vec![0.1 + 0.2, -0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 123_456_789.123_456_79];
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    while numbers.len() < 500 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.extend(Some(f64::from_bits(bits)).filter(|number| number.is_finite()));
    }
    let data = serde_json::json!({ "floats": numbers, "largest": u64::MAX, "least": i64::MIN, "text": "\u{0}수면" });
    let outcome = ToolOutcome::ok(data);
    let end = Ended { outcome, effect: Effect::None, ..ok("") };
    written(
        store,
        &[step("s", 1, 5, proposed(1)), step("s", 1, 5, Transition::Ended(end.clone()))],
    )
    .await;
    assert_eq!(verified(store, "s").await[1].transition, Transition::Ended(end));
}
