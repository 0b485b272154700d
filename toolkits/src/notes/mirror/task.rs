//! Runs the task that keeps a workspace equal to the store.
use std::{collections::BTreeSet, path::Path, time::Duration};

use madang::UserId;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{debug, warn};

use super::{
    marks::Which,
    pass::Pass,
    report::{MirrorError, MirrorReport},
    steps::Steps,
};
use madang::store::SqliteStore;

/// The first and the longest delay after a failure.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A workspace that follows the notes of one user. Dropping it writes the changes so far and ends it;
/// [`stop`](Self::stop) waits for that.
#[derive(Debug)]
pub struct Mirror {
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Mirror {
    /// Opens the workspace, compares all pages, then writes each change soon after its commit. One workspace belongs to
    /// one user.
    ///
    /// # Errors
    /// [`MirrorError::Workspace`]. Later failures are logged and tried again.
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

    /// Writes the changes so far, and ends. Call it before the store is closed.
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
    let mut turns = Turns { all: Some(Instant::now()), retry: RETRY.0 };
    let mut obstacles = Obstacles::default();
    loop {
        let is_last = stop.is_cancelled();
        // Marked before the look, so that a later commit wakes the wait.
        commits.borrow_and_update();
        let of = turns.next(Instant::now());
        let done = match of {
            Which::All => pass.reconcile().await,
            Which::Changed | Which::Moved => pass.catch_up().await,
        };
        let went = match done {
            Ok(report) => {
                tell(&report, &mut obstacles);
                if report.failed.is_empty() { Went::Well } else { Went::InPart }
            }
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "the mirror could not go on");
                Went::Wrong
            }
        };
        let again = turns.took(of, went, Instant::now());
        if is_last {
            return;
        }
        tokio::select! {
            _ = commits.changed() => {}
            () = stop.cancelled() => {}
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
        }
    }
}

/// Decides which pages the task goes through next, and when without a commit. Pure.
#[derive(Debug)]
struct Turns {
    /// The moment from which a walk through all pages is due; `None` after a success.
    all: Option<Instant>,
    /// The delay after the next error.
    retry: Duration,
}

/// The result of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Went {
    Well,
    /// Some files could not be read or written.
    InPart,
    /// The walk ended with an error.
    Wrong,
}

impl Turns {
    fn next(&self, now: Instant) -> Which {
        if self.all.is_some_and(|from| from <= now) { Which::All } else { Which::Changed }
    }

    /// Takes in the result of a walk, and returns the moment of the next at the latest. A failed file may belong to an
    /// unchanged page, so the next walk covers all pages.
    fn took(&mut self, of: Which, went: Went, now: Instant) -> Option<Instant> {
        let again = match went {
            Went::Well => None,
            Went::InPart => Some(now + RETRY.1),
            Went::Wrong => {
                let again = now + self.retry;
                self.retry = (self.retry * 2).min(RETRY.1);
                return Some(again);
            }
        };
        self.retry = RETRY.0;
        match of {
            Which::All => self.all = again,
            Which::Changed | Which::Moved => {}
        }
        // A pending walk through all pages is another reason to look.
        match (self.all, again) {
            (Some(all), Some(again)) => Some(all.min(again)),
            (all, again) => all.or(again),
        }
    }
}

/// The reported obstacles of pages' files. Pure.
#[derive(Debug, Default)]
struct Obstacles(BTreeSet<String>);

impl Obstacles {
    /// Returns the new obstacles, so that each is logged once and not at every commit.
    fn new_in(&mut self, report: &MirrorReport) -> Vec<String> {
        let done = report.written.iter().chain(&report.moved).chain(&report.imported);
        for name in done {
            self.0.remove(name);
        }
        report.blocked.iter().filter(|name| self.0.insert((*name).clone())).cloned().collect()
    }
}

fn tell(report: &MirrorReport, obstacles: &mut Obstacles) {
    for file in obstacles.new_in(report) {
        warn!(file, "what stands at the place of a page's file is no file");
    }
    if *report != MirrorReport::default() {
        debug!(?report, "the mirror followed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn all_pages_are_gone_through_until_no_file_fails_but_not_at_each_commit() {
        let start = Instant::now();
        let mut turns = Turns { all: Some(start), retry: RETRY.0 };
        assert_eq!(turns.next(start), Which::All);
        let again = start + 60 * SECOND;
        assert_eq!(turns.took(Which::All, Went::InPart, start), Some(again));
        let committed = start + SECOND;
        assert_eq!(turns.next(committed), Which::Changed);
        assert_eq!(turns.took(Which::Changed, Went::Well, committed), Some(again));
        assert_eq!(turns.next(again), Which::All);
        assert_eq!(turns.took(Which::All, Went::Well, again), None);
        assert_eq!(turns.next(again + SECOND), Which::Changed);
        let failed = turns.took(Which::Changed, Went::InPart, again);
        assert_eq!(failed, Some(again + 60 * SECOND));
        assert_eq!(turns.next(again + 60 * SECOND), Which::Changed);
    }

    #[test]
    fn what_is_in_the_way_of_a_file_is_said_once_until_the_file_is_written() {
        let mut obstacles = Obstacles::default();
        let blocked = |names: &[&str]| MirrorReport {
            blocked: names.iter().map(|name| (*name).to_owned()).collect(),
            ..MirrorReport::default()
        };
        assert_eq!(obstacles.new_in(&blocked(&["a.md"])), ["a.md"]);
        assert_eq!(obstacles.new_in(&blocked(&["a.md", "b.md"])), ["b.md"]);
        assert_eq!(obstacles.new_in(&blocked(&["a.md"])), [""; 0]);
        let written = MirrorReport { written: vec!["a.md".to_owned()], ..MirrorReport::default() };
        assert_eq!(obstacles.new_in(&written), [""; 0]);
        assert_eq!(obstacles.new_in(&blocked(&["a.md", "b.md"])), ["a.md"]);
    }

    #[test]
    fn after_errors_it_waits_twice_as_long_each_time_up_to_a_minute() {
        let now = Instant::now();
        let mut turns = Turns { all: Some(now), retry: RETRY.0 };
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let again = turns.took(Which::All, Went::Wrong, now);
            assert_eq!((again, turns.next(now)), (Some(now + seconds * SECOND), Which::All));
        }
        assert_eq!(turns.took(Which::All, Went::Well, now), None);
        assert_eq!(turns.took(Which::Changed, Went::Wrong, now), Some(now + SECOND));
    }
}
