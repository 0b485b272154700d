//! SQLite keeps what every store promises.

use std::sync::Arc;

use madang_actors::port::Store;
use madang_testing::store_contract;

use crate::store::SqliteStore;

madang_testing::store_contract!(async || Arc::new(SqliteStore::in_memory().await.unwrap()));

/// Without ORDER BY SQLite gives rows in either direction; the store relies on neither.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_step_is_the_last_however_sqlite_finds_the_steps() {
    for is_reversed in ["ON", "OFF"] {
        let store = SqliteStore::in_memory().await.unwrap();
        store.say_as_store(format!("PRAGMA reverse_unordered_selects = {is_reversed}")).await;
        store_contract::the_same_step_again_changes_nothing(&store).await;
        store.close().await;
    }
}
