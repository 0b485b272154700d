//! PostgreSQL keeps what every store promises.

use std::sync::Arc;

use super::support::{Database, has_server};

madang_testing::store_contract!(
    async || Arc::new(Database::new().await.store().await),
    if has_server()
);
