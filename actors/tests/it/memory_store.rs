//! The memory store keeps what every store promises, also through steps that are taken as it takes
//! them.

use std::sync::Arc;

use madang_testing::{MemoryStore, SteppedStore, Steps};

madang_testing::store_contract!(async || Arc::new(MemoryStore::new()));

/// Says nothing else of any step.
#[derive(Debug)]
struct AsItIs;

impl Steps for AsItIs {}

mod stepped {
    use super::*;

    madang_testing::store_contract!(async || Arc::new(SteppedStore::new(
        MemoryStore::new(),
        AsItIs
    )));
}
