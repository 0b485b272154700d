//! SQLite keeps what every store promises.

use std::sync::Arc;

use crate::store::SqliteStore;

madang_actors::store_contract!(async || Arc::new(SqliteStore::in_memory([]).await.unwrap()));
