//! Tests that a reader of pages of the ledger misses no call, however the writers come and go.

use madang_actors::{
    ledger::Transition,
    port::{LedgerFilter, Store as _, Transaction as _, Write},
    protocol::CallId,
};

use super::{
    super::{
        pool::{LentTo, Pool},
        transaction::PostgresTransaction,
    },
    support::{StoreFixture, call, needs_server, opening, proposal, session, step, user},
};
use crate::store::PostgresStore;

async fn page(store: &PostgresStore, filter: LedgerFilter) -> Vec<CallId> {
    store.calls(&filter).await.unwrap().into_iter().map(|row| row.call).collect()
}

fn proposed(name: &str, owner: &str, number: u64) -> Write {
    let proposed = madang_actors::ledger::Proposal { user: user(owner), ..proposal(1) };
    step(name, number, Transition::Proposed(proposed))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_over_all_users_ends_before_a_transaction_that_still_runs() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.handle.write(opening("k", "kim")).await.unwrap();
    fixture.handle.write(opening("l", "lee")).await.unwrap();
    let writers = Pool::new(fixture.database.url.parse().unwrap(), 2, LentTo::Writers, "on");
    let begin = async || {
        let lent = writers.lend().await.unwrap();
        PostgresTransaction::begin(lent, fixture.store.0.clone()).await.unwrap()
    };
    let (mut kims, mut lees) = (begin().await, begin().await);
    kims.write(&[proposed("k", "kim", 1)]).await.unwrap();
    lees.write(&[proposed("l", "lee", 2)]).await.unwrap();
    Box::new(lees).commit().await.unwrap();

    let ten = LedgerFilter::default().at_most(10);
    assert_eq!(page(&fixture.store, ten.clone()).await, [], "kim's may still come before lee's");
    for of_lee in [ten.clone().of_user(&user("lee")), ten.clone().in_session(&session("l"))] {
        assert_eq!(page(&fixture.store, of_lee).await, [call(2)], "nothing can come before it");
    }
    assert_eq!(page(&fixture.store, LedgerFilter::open_calls()).await, [call(2)], "all there are");
    Box::new(kims).commit().await.unwrap();
    assert_eq!(page(&fixture.store, ten.clone()).await, [call(1), call(2)]);
    let first = page(&fixture.store, ten.clone().at_most(1)).await;
    assert_eq!(page(&fixture.store, ten.clone().after(first[0])).await, [call(2)]);

    // What runs in another database is none of ours.
    let mut elsewhere = super::support::connect(&super::support::server()).await;
    super::support::run(&mut elsewhere, "BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    fixture.handle.write(vec![proposed_later()]).await.unwrap();
    assert_eq!(page(&fixture.store, ten).await, [call(1), call(2), call(3)]);
    writers.close().await;
    fixture.close().await;
}

fn proposed_later() -> Write {
    let proposed = madang_actors::ledger::Proposal { ..proposal(2) };
    step("k", 3, Transition::Proposed(proposed))
}
