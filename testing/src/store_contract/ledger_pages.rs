//! Promises about reading the ledger page by page.

use super::facts::{
    began, call, calls, ok, opened, proposal, proposed_by, proposed_in, running, session, step,
    user, written,
};
use madang_actors::{
    ledger::{Proposal, Transition},
    port::{LedgerFilter, Store, StoreError},
    protocol::CallId,
};

/// Reads all calls that match, at most `at_once` in each read.
async fn paged(store: &dyn Store, filter: &LedgerFilter, at_once: usize) -> Vec<CallId> {
    let mut all = Vec::new();
    let mut filter = filter.clone().at_most(at_once);
    loop {
        let page = store.calls(&filter).await.expect("the store can be read");
        let Some(last) = page.last().map(|row| row.call) else { return all };
        assert!(page.len() <= at_once);
        assert!(all.len() < 100, "the pages come to no end");
        all.extend(page.into_iter().map(|row| row.call));
        filter = filter.after(last);
    }
}

/// Writes two sessions of kim's and one of lee's. Their calls have the same moment, and ids that do
/// not follow their order.
async fn many_calls(store: &dyn Store) {
    let sessions = [("s", "kim", 1), ("t", "lee", 2), ("u", "kim", 3)];
    for (name, owner, number) in sessions {
        written(store, &[opened(name, owner), began(name, number)]).await;
    }
    let of_lee = |seq| {
        let proposal = proposal("lee", "t", 2, seq);
        Transition::Proposed(Proposal { model: None, opaque: None, ..proposal })
    };
    written(
        store,
        &[
            step("s", 9, 5, proposed_in(1, 1)),
            step("t", 3, 5, of_lee(1)),
            step("s", 7, 5, proposed_in(1, 2)),
            step("u", 8, 5, proposed_in(3, 1)),
            step("t", 1, 5, of_lee(2)),
            // Lee's call in kim's session.
            step("s", 2, 5, proposed_by("lee", "t", 3)),
            step("u", 4, 5, proposed_in(3, 2)),
        ],
    )
    .await;
    let ends = [(9, "s"), (3, "t"), (8, "u")].map(|(number, name)| {
        [step(name, number, 6, running(7)), step(name, number, 7, Transition::Ended(ok("done")))]
    });
    written(store, &ends.concat()).await;
}

/// Pages of any size have all calls of a user, of a session or of all. Each comes once and in the
/// order of the proposals, even if all have the same moment.
pub async fn pages_of_the_ledger_of_any_size_give_each_call_once(store: &dyn Store) {
    many_calls(store).await;
    let kim = user("kim");
    let lee = user("lee");
    let s = session("s");
    let t = session("t");
    let all = LedgerFilter::default();
    let of = |filter: &LedgerFilter| filter.clone();
    for (filter, expected) in [
        (of(&all), &[9, 3, 7, 8, 1, 2, 4][..]),
        (of(&all).of_user(&kim), &[9, 7, 8, 4]),
        (of(&all).of_user(&lee), &[3, 1, 2]),
        (of(&all).of_user(&user("no one")), &[]),
        (of(&all).in_session(&s), &[9, 7, 2]),
        (of(&all).in_session(&s).of_user(&kim), &[9, 7]),
        (of(&all).in_session(&s).of_user(&lee), &[2]),
        (of(&all).in_session(&t).of_user(&kim), &[]),
        (LedgerFilter::open_calls(), &[7, 1, 2, 4]),
        (LedgerFilter::open_calls().of_user(&kim), &[7, 4]),
        (LedgerFilter::open_calls().of_user(&lee).in_session(&t), &[1]),
        (LedgerFilter::unresolved().of_user(&kim), &[]),
        (LedgerFilter::standing_approvals().of_user(&lee), &[]),
        (LedgerFilter::call(call(8)), &[8]),
        (LedgerFilter::call(call(8)).of_user(&kim), &[8]),
        (LedgerFilter::call(call(8)).of_user(&lee), &[]),
    ] {
        let expected: Vec<_> = expected.iter().map(|number| call(*number)).collect();
        assert_eq!(calls(store, &filter).await, expected, "{filter:?}");
        for at_once in 1..=expected.len() + 1 {
            let paged = paged(store, &filter, at_once).await;
            assert_eq!(paged, expected, "{at_once} at once: {filter:?}");
        }
        let none = store.calls(&filter.clone().at_most(0)).await.expect("the store can be read");
        assert_eq!(none, [], "{filter:?}");
    }
}

/// A call keeps its place in the order. Whatever ends, is proposed later or does not match is
/// neither missed nor read twice.
pub async fn a_page_of_the_ledger_begins_behind_the_position_of_a_call(store: &dyn Store) {
    many_calls(store).await;
    let find = async |filter| calls(store, &filter).await;
    // The call itself need not match.
    let open = LedgerFilter::open_calls();
    assert_eq!(find(open.clone().after(call(3)).at_most(2)).await, [call(7), call(1)]);
    written(store, &[step("t", 1, 8, running(7)), step("t", 1, 9, Transition::Ended(ok("")))])
        .await;
    assert_eq!(find(open.clone().after(call(1))).await, [call(2), call(4)]);
    assert_eq!(find(LedgerFilter::call(call(8)).after(call(8))).await, []);
    assert_eq!(find(LedgerFilter::call(call(8)).after(call(7))).await, [call(8)]);

    // This was proposed later, with the earliest of all ids and an earlier moment.
    assert_eq!(find(LedgerFilter::default().after(call(4))).await, []);
    written(store, &[step("s", 0, 1, proposed_in(1, 4))]).await;
    assert_eq!(find(LedgerFilter::default().after(call(4))).await, [call(0)]);
    assert_eq!(find(open.of_user(&user("kim")).after(call(4))).await, [call(0)]);
}

/// If the filter's user and session have no such call, there is no position, because a page must
/// not look like the last one.
pub async fn behind_a_call_that_is_not_there_nothing_is_read(store: &dyn Store) {
    many_calls(store).await;
    let all = LedgerFilter::default();
    for filter in [
        all.clone().after(call(99)),
        all.clone().of_user(&user("kim")).after(call(3)),
        all.clone().in_session(&session("s")).after(call(8)),
        all.clone().in_session(&session("s")).of_user(&user("kim")).after(call(2)),
        LedgerFilter::call(call(9)).after(call(99)).at_most(1),
        all.after(call(99)).at_most(0),
    ] {
        let error = store.calls(&filter).await.expect_err("there is no such position");
        assert!(matches!(error, StoreError::Refused { .. }), "{filter:?}: {error:?}");
    }
}

/// A page that is bounded in bytes has at least one call, and pages of any size have each call
/// once.
pub async fn a_page_of_the_ledger_is_bounded_in_bytes(store: &dyn Store) {
    many_calls(store).await;
    let all = paged(store, &LedgerFilter::default(), 100).await;
    let one = store.calls(&LedgerFilter::default().within(1)).await;
    assert_eq!(one.expect("the store can be read").len(), 1);
    let whole = store.calls(&LedgerFilter::default().within(usize::MAX)).await;
    assert_eq!(whole.expect("the store can be read").len(), all.len());
    for power in 0..16 {
        let filter = LedgerFilter::default().within(1 << power);
        assert_eq!(paged(store, &filter, 100).await, all, "{filter:?}");
    }
}
