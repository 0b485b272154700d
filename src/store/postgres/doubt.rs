//! What must pass after a commit whose result is not known, before anybody reads the ledger.
//!
//! The connection of such a commit is gone, but the server may still be about to commit. Its lock on
//! the users' rows lasts until then. So the next connection waits for these rows, and then commits
//! itself: where a standby must have each commit, all earlier ones are there by then.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use madang_actors::{ledger::SealKeys, port::StoreError};

use super::{
    error::{self, Fenced},
    managed,
    own::patiently,
    pool::Connection,
};

/// The commits whose result is not known.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    is_there: AtomicBool,
    commits: Mutex<Commits>,
    /// One at a time waits for them.
    waits: tokio::sync::Mutex<()>,
}

/// The commits whose end has not been awaited yet.
#[derive(Debug, Default)]
struct Commits {
    /// How many there were, those that were waited for among them.
    count: u64,
    /// The users of which they wrote.
    users: BTreeSet<String>,
}

impl Doubt {
    /// Notes a commit whose result is not known.
    pub(super) fn add(&self, users: BTreeSet<String>) {
        let mut commits = self.commits();
        commits.count += 1;
        commits.users.extend(users);
        self.is_there.store(true, SeqCst);
    }

    /// Returns whether somebody must wait before reading.
    pub(super) fn is_there(&self) -> bool {
        self.is_there.load(SeqCst)
    }

    /// Waits until each such commit has come to its end. Everybody who wants to read meanwhile waits
    /// here, too.
    pub(super) async fn pass(
        &self,
        connect: impl AsyncFnOnce() -> Result<Connection, StoreError>,
        keys: &SealKeys,
        node: i64,
    ) -> Result<(), StoreError> {
        let _alone = self.waits.lock().await;
        if !self.is_there() {
            return Ok(()); // somebody else has waited
        }
        let (count, names) = {
            let commits = self.commits();
            (commits.count, commits.users.iter().cloned().collect::<Vec<_>>())
        };
        let mut connection = connect().await?;
        wait(&mut connection, keys, node, &names).await?;
        connection.close().await;
        let mut commits = self.commits();
        // Another may have been added since, even of the same user.
        if commits.count == count {
            commits.users.clear();
            self.is_there.store(false, SeqCst);
        }
        Ok(())
    }

    fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn wait(
    connection: &mut Connection,
    keys: &SealKeys,
    node: i64,
    users: &[String],
) -> Result<(), StoreError> {
    let begun = managed::begin(&mut connection.db, Some("BEGIN READ WRITE"));
    patiently(begun).await.map_err(StoreError::unavailable)?;
    let mut own = connection.own(keys);
    let rows = "SELECT 1 FROM madang.users WHERE user_id = ANY ($1) ORDER BY user_id FOR SHARE";
    let rows = own.query(rows).bind(users);
    own.all(rows).await?;
    let beat = own.query("UPDATE madang.nodes SET beat = beat + 1 WHERE node = $1").bind(node);
    if own.run(beat).await? != 1 {
        return Err(StoreError::unavailable(Fenced(None)));
    }
    patiently(managed::commit(own.db)).await.map_err(error::of_commit)
}
