//! What a run left behind: the ledger and the table of effects, read when the runtime is gone.

use std::{collections::HashMap, path::Path};

use madang::{
    CallId,
    ledger::{LedgerFilter, LedgerRow},
    store::{SqliteStore, Store},
};
use madang_testing::MemoryStore;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::failure::Failure;

/// What a run left behind.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) ledger: Vec<LedgerRow>,
    /// Rows that handlers wrote, by the name of the call.
    pub(crate) effects: HashMap<String, u32>,
    /// Sessions whose ledger does not hold, and why.
    pub(crate) damaged: Vec<String>,
}

impl Snapshot {
    /// Reads a memory store.
    pub(crate) async fn of_memory(store: &MemoryStore) -> Result<Self, Failure> {
        let mut effects = HashMap::new();
        for call in store.connection().values().into_values() {
            *effects.entry(call.as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        Ok(Self { ledger: ledger(store).await?, effects, damaged: Vec::new() })
    }

    /// Reads a database, and checks the whole ledger in it as `madang ledger --verify` does.
    pub(crate) async fn of_file(path: &Path) -> Result<Self, Failure> {
        let store = SqliteStore::open_read_only(path).await.map_err(Failure::of)?;
        let mut damaged = Vec::new();
        for session in store.recorded_sessions().await.map_err(unreadable)? {
            let Some(ledger) = store.session_ledger(&session).await.map_err(unreadable)? else {
                continue;
            };
            if let Err(error) = ledger.audit(None, Some(store.keys())) {
                damaged.push(format!("the ledger of {session} does not hold: {error}"));
            }
        }
        let ledger = ledger(&store).await?;
        store.close().await;
        let effects = effects(path).await;
        let effects =
            effects.map_err(|cause| Failure::because("failed to read the effects", cause))?;
        Ok(Self { ledger, effects, damaged })
    }

    /// How often this call took effect in the database.
    pub(crate) fn effects_of(&self, call: CallId) -> u32 {
        self.effects.get(&call.to_string()).copied().unwrap_or_default()
    }
}

async fn ledger(store: &impl Store) -> Result<Vec<LedgerRow>, Failure> {
    store.calls(&LedgerFilter::default()).await.map_err(unreadable)
}

async fn effects(path: &Path) -> sqlx::Result<HashMap<String, u32>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut db = SqliteConnection::connect_with(&options).await?;
    let count = "SELECT call, count(*) FROM stress_effects GROUP BY call";
    let rows: Vec<(String, u32)> = sqlx::query_as(count).fetch_all(&mut db).await?;
    db.close().await?;
    Ok(rows.into_iter().collect())
}

fn unreadable(cause: madang::store::StoreError) -> Failure {
    Failure::of_store("failed to read the ledger of the run", cause)
}
