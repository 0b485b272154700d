//! Runs the task that keeps a workspace equal to the store.
use std::{collections::BTreeSet, mem, path::Path, time::Duration};

use madang::UserId;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{debug, warn};

use super::{
    pass::Pass,
    records::Which,
    report::{MirrorEnd, MirrorError, MirrorReport},
    steps::Steps,
};
use madang::store::SqliteStore;

/// The first and the longest delay after a failure.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Keeps a workspace equal to the notes of one user. If it is dropped, the changes so far are still
/// written, and then it ends. [`stop`](Self::stop) waits for that.
#[derive(Debug)]
pub struct Mirror {
    stop: DropGuard,
    task: JoinHandle<MirrorEnd>,
}

impl Mirror {
    /// Starts a task that compares all pages with their files, and then writes each change soon
    /// after its commit. Failures are logged and tried again. [`stop`](Self::stop) returns those
    /// that remain. This must be called within a tokio runtime.
    #[must_use]
    pub fn start(store: &SqliteStore, user: UserId, workspace: &Path) -> Self {
        let pass = Pass::new(store, user, workspace, Steps::default());
        let stop = CancellationToken::new();
        let task = tokio::spawn(follow(pass, stop.clone()));
        Self { stop: stop.drop_guard(), task }
    }

    /// Writes the changes so far, ends, and returns what a person should know. Call it before the
    /// store is closed.
    pub async fn stop(self) -> MirrorEnd {
        let Self { stop, task } = self;
        drop(stop);
        task.await.unwrap_or_else(|error| {
            warn!(%error, "the mirror ended early; the next start repairs it");
            MirrorEnd { error: Some(MirrorError::Ending), ..MirrorEnd::default() }
        })
    }
}

async fn follow(pass: Pass, stop: CancellationToken) -> MirrorEnd {
    let mut commits = pass.records.store.commits();
    let mut turns = Turns { all: Some(Instant::now()), retry: RETRY.0 };
    let mut remains = Remains::default();
    loop {
        let is_last = stop.is_cancelled();
        // The commit is marked before the look, so that a later one wakes the wait.
        commits.borrow_and_update();
        // What failed once may succeed now.
        let of =
            if is_last && remains.has_failed() { Which::All } else { turns.next(Instant::now()) };
        let mut wrong = None;
        let went = match pass.run(of).await {
            Ok(report) => {
                tell(&report, remains.take_in(of, &report));
                if report.failed.is_empty() { Went::Well } else { Went::InPart }
            }
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "the mirror could not continue");
                wrong = Some(error);
                Went::Wrong
            }
        };
        let again = turns.took(of, went, Instant::now());
        if is_last {
            return MirrorEnd { report: remains.into(), error: wrong };
        }
        tokio::select! {
            _ = commits.changed() => {}
            () = stop.cancelled() => {}
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
        }
    }
}

/// Decides which pages the task goes through next, and when it does so even without a commit.
#[derive(Debug)]
struct Turns {
    /// The moment from which a walk through all pages is due. `None` after a success.
    all: Option<Instant>,
    /// The delay after the next error.
    retry: Duration,
}

/// What came of a walk.
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

    /// Takes in the result of a walk, and returns the latest moment of the next one. A failed file
    /// may belong to an unchanged page, so the next walk covers all pages.
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
            Which::Changed => {}
        }
        // A pending walk through all pages is another reason to look.
        match (self.all, again) {
            (Some(all), Some(again)) => Some(all.min(again)),
            (all, again) => all.or(again),
        }
    }
}

/// What a person should know at the end.
#[derive(Debug, Default)]
struct Remains {
    left: Vec<String>,
    kept_beside: Vec<String>,
    blocked: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Remains {
    fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Takes in the report of a walk. Returns the files that are newly blocked, so that each is
    /// logged once and not at every commit.
    fn take_in(&mut self, of: Which, report: &MirrorReport) -> Vec<String> {
        let before = match of {
            Which::All => {
                self.failed.clear();
                mem::take(&mut self.blocked)
            }
            Which::Changed => {
                for name in report.written.iter().chain(&report.removed) {
                    self.blocked.remove(name);
                    self.failed.remove(name);
                }
                self.blocked.clone()
            }
        };
        self.left.extend_from_slice(&report.left);
        self.kept_beside.extend_from_slice(&report.kept_beside);
        self.blocked.extend(report.blocked.iter().cloned());
        self.failed.extend(report.failed.iter().cloned());
        self.blocked.difference(&before).cloned().collect()
    }
}

impl From<Remains> for MirrorReport {
    fn from(Remains { left, kept_beside, blocked, failed }: Remains) -> Self {
        let blocked = Vec::from_iter(blocked);
        let failed = Vec::from_iter(failed);
        Self { left, kept_beside, blocked, failed, ..Self::default() }
    }
}

fn tell(report: &MirrorReport, newly_blocked: Vec<String>) {
    for file in newly_blocked {
        warn!(file, "there is something other than a file in the place of a page's file");
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
        let mut remains = Remains::default();
        let blocked = |names: &[&str]| MirrorReport {
            blocked: names.iter().map(|name| (*name).to_owned()).collect(),
            ..MirrorReport::default()
        };
        assert_eq!(remains.take_in(Which::All, &blocked(&["a.md"])), ["a.md"]);
        assert_eq!(remains.take_in(Which::All, &blocked(&["a.md", "b.md"])), ["b.md"]);
        assert_eq!(remains.take_in(Which::Changed, &blocked(&["a.md"])), [""; 0]);
        let written = MirrorReport { written: vec!["a.md".to_owned()], ..MirrorReport::default() };
        assert_eq!(remains.take_in(Which::Changed, &written), [""; 0]);
        assert_eq!(remains.take_in(Which::Changed, &blocked(&["a.md", "b.md"])), ["a.md"]);
    }

    #[test]
    fn what_failed_is_known_until_its_file_is_written_or_all_are_well() {
        let report = |failed: &[&str], written: &[&str]| MirrorReport {
            failed: failed.iter().map(|name| (*name).to_owned()).collect(),
            written: written.iter().map(|name| (*name).to_owned()).collect(),
            ..MirrorReport::default()
        };
        let mut remains = Remains::default();
        for (of, report, failed) in [
            (Which::All, report(&["a.md", "b.md"], &[]), &["a.md", "b.md"][..]),
            (Which::Changed, report(&[], &["c.md"]), &["a.md", "b.md"]),
            (Which::Changed, report(&["c.md"], &["a.md"]), &["b.md", "c.md"]),
            (Which::All, report(&["c.md"], &[]), &["c.md"]),
            (Which::All, report(&[], &[]), &[]),
        ] {
            remains.take_in(of, &report);
            assert_eq!(Vec::from_iter(&remains.failed), failed);
        }
        assert!(!remains.has_failed());
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
