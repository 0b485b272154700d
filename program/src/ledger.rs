//! `madang ledger`: prints the recorded tool calls, beside a program that holds the database.

use madang::{
    ledger::LedgerFilter,
    store::{SealKeyFile, Store},
};
use serde_json::json;

use crate::{args::Ledger, failure::Failure, output, setup, verify};

/// Prints the calls as JSON lines in the order of their proposals, or verifies them.
pub(crate) async fn run(wanted: Ledger) -> Result<(), Failure> {
    if wanted.is_to_rotate {
        return rotate();
    }
    let store = setup::store_to_read(&wanted.database).await?;
    let result = if wanted.is_to_verify {
        verify::run(&store, &wanted).await
    } else {
        print(&store, wanted).await
    };
    store.close().await;
    result
}

/// Adds a key, and prints the names of all keys, the newest first.
fn rotate() -> Result<(), Failure> {
    let file = SealKeyFile::usual().map_err(Failure::of)?;
    let keys = file.rotate().map_err(Failure::of)?;
    let ids: Vec<_> = keys.ids().map(|id| id.to_string()).collect();
    output::foreign(&json!({ "file": file.path(), "keys": ids }).to_string())
}

async fn print(store: &impl Store, wanted: Ledger) -> Result<(), Failure> {
    if let Some(session) = &wanted.session
        && store.owner(session).await.map_err(Failure::of_ledger)?.is_none()
    {
        return Err(Failure::no_session(session));
    }
    let filter = LedgerFilter { session: wanted.session, ..LedgerFilter::default() };
    for row in store.calls(&filter).await.map_err(Failure::of_ledger)? {
        let row = serde_json::to_string(&row).map_err(|cause| {
            Failure::because("failed to write a call of the ledger as JSON", cause)
        })?;
        output::foreign(&row)?;
    }
    Ok(())
}
