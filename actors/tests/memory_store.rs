//! The memory store keeps what every store promises.

use std::sync::Arc;

use madang_actors::testing::MemoryStore;

madang_actors::store_contract!(async || Arc::new(MemoryStore::new()));
