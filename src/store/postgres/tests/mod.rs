//! Tests of the PostgreSQL store, on a real server and the real clock: the one that `MADANG_TEST_POSTGRES`
//! names, as `scripts/postgres.sh` prints it. Without it they do nothing, and fail with `NO_SKIP=1`.
//!
//! - `contract` runs the tests that every store passes.

mod contract;
mod support;
