//! The task that keeps a workspace as the store has it.
use std::{path::Path, time::Duration};

use madang_actors::protocol::UserId;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{debug, warn};

use super::{
    pass::Pass,
    report::{MirrorError, Report},
    steps::Steps,
};
use crate::store::SqliteStore;

/// How long it waits after a failure, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A workspace that follows the notes of one user. Dropped, it writes what has changed until then and ends; call
/// [`stop`](Self::stop) to wait for that.
#[derive(Debug)]
pub struct Mirror {
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Mirror {
    /// Opens the workspace, and begins: first everything is compared, then each change is written soon after its commit.
    /// One workspace belongs to one user.
    ///
    /// # Errors
    /// [`MirrorError::Workspace`]. What fails later is logged and tried again.
    pub async fn start(
        store: &SqliteStore,
        user: UserId,
        workspace: &Path,
    ) -> Result<Self, MirrorError> {
        let pass = Pass::open(store, user, workspace, Steps::default()).await?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(follow(pass, store.clone(), stop.clone()));
        Ok(Self { stop: stop.drop_guard(), task })
    }

    /// Writes what has changed until now, and ends. Call it before the store is closed.
    pub async fn stop(self) {
        let Self { stop, task } = self;
        drop(stop);
        if let Err(error) = task.await {
            warn!(%error, "the mirror ended early; the next start repairs it");
        }
    }
}

async fn follow(pass: Pass, store: SqliteStore, stop: CancellationToken) {
    let mut commits = store.commits();
    let (mut retry, mut is_reconciled) = (RETRY.0, false);
    loop {
        let is_last = stop.is_cancelled();
        // Marked before the look: what is committed behind it wakes the wait.
        commits.borrow_and_update();
        let done = if is_reconciled { pass.catch_up().await } else { pass.reconcile().await };
        let wait = match done {
            Ok(report) => {
                is_reconciled = true;
                tell(&report);
                retry = RETRY.0;
                if report.failed.is_empty() { None } else { Some(RETRY.1) }
            }
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "the mirror could not go on");
                retry = (retry * 2).min(RETRY.1);
                Some(retry)
            }
        };
        if is_last {
            return;
        }
        tokio::select! {
            _ = commits.changed() => {}
            () = stop.cancelled() => {}
            () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

fn tell(report: &Report) {
    if *report != Report::default() {
        debug!(?report, "the mirror followed");
    }
}
