//! Tests that pages of the ledger are found by indexes, and that no damaged row shortens one.

use madang_actors::{
    port::{LedgerFilter, Store as _},
    protocol::CallId,
};
use uuid::Uuid;

use super::{
    super::{calls, own::Own},
    support::{StoreFixture, change, plan, record, session, user, vandal},
};

/// A ledger may have millions of calls: a page must not read those of other users, nor all that
/// came before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_ledger_is_found_by_the_index_that_leaves_the_fewest_rows() {
    let fixture = StoreFixture::new().await;
    let mut db = fixture.other_program().await;
    let own = Own { db: &mut db, keys: fixture.store.keys(), mark: "" };
    let all = LedgerFilter::default();
    let open = LedgerFilter::open_calls();
    let one = LedgerFilter::call(CallId::new(Uuid::nil()));
    let kim = user();
    let s = session("s");
    for (filter, found) in [
        (all.clone(), "INTEGER PRIMARY KEY (rowid>?)"),
        (all.clone().of_user(&kim), "INDEX madang_calls_of_user (user=? AND number>?)"),
        (all.clone().in_session(&s), "INDEX madang_calls_of_session (session=? AND number>?)"),
        (
            all.in_session(&s).of_user(&kim),
            "INDEX madang_calls_of_session (session=? AND number>?)",
        ),
        (
            open.clone().in_session(&s).of_user(&kim),
            "INDEX madang_open_calls (session=? AND number>?)",
        ),
        (
            LedgerFilter::unresolved().in_session(&s),
            "INDEX madang_unknown_effects (session=? AND number>?)",
        ),
        (
            LedgerFilter::unresolved().of_user(&kim),
            "INDEX madang_calls_of_user (user=? AND number>?)",
        ),
    ] {
        let steps = plan(&fixture, &calls::query(&own, "*", &filter, Some(7), Some(50))).await;
        assert_eq!(steps, [format!("SEARCH madang_calls USING {found}")], "{filter:?}");
    }
    // The few open calls of all chats are sorted.
    for filter in [open.clone(), open.of_user(&kim)] {
        let steps = plan(&fixture, &calls::query(&own, "*", &filter, Some(7), Some(50))).await;
        let expected =
            ["SCAN madang_calls USING INDEX madang_open_calls", "USE TEMP B-TREE FOR ORDER BY"];
        assert_eq!(steps, expected, "{filter:?}");
    }
    for filter in [one.clone(), one.of_user(&kim)] {
        let steps = plan(&fixture, &calls::query(&own, "*", &filter, None, None)).await;
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(steps[0].contains("sqlite_autoindex_madang_calls_1 (call=?)"), "{steps:?}");
    }
    drop(db);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_read_shortens_no_page() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for number in 1..=5 {
        fixture.handle.write(record("s", number)).await.unwrap();
    }
    let mut db = vandal(&fixture).await;
    let names = fixture.store.calls(&LedgerFilter::default()).await.unwrap();
    let names: Vec<_> = names.into_iter().map(|row| row.call).collect();
    for number in ["1", "3"] {
        let sql = "UPDATE madang_calls SET state = 'elsewhere' WHERE number = CAST($1 AS INTEGER)";
        change(&mut db, sql, number).await;
    }
    let page = async |filter: LedgerFilter| {
        let rows = fixture.store.calls(&filter.at_most(2)).await.unwrap();
        rows.into_iter().map(|row| row.call).collect::<Vec<_>>()
    };
    assert_eq!(page(LedgerFilter::default()).await, [names[1], names[3]]);
    assert_eq!(page(LedgerFilter::default().of_user(&user()).after(names[3])).await, [names[4]]);
    // The position of a call is known though the rest of its row is not.
    assert_eq!(page(LedgerFilter::default().after(names[2])).await, [names[3], names[4]]);
    drop(db);
    fixture.close().await;
}
