//! The deadlines of waits for the store. All wait equally long, so one line and one sleeping task are enough for all.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

/// A wait that has a deadline.
pub(super) trait Expires: Send + Sync {
    /// It has waited for long enough. Nothing happens where it was told before, or where a writer is at work for it.
    fn expire(&self);
}

/// The deadlines of all who wait for one store. Cheap to clone. One task keeps them: it runs while somebody waits, for as
/// long as anybody may wait after that, and never longer than there is a clone.
#[derive(Clone)]
pub(super) struct Deadlines(Arc<Shared>);

struct Shared {
    patience: Duration,
    threads: Handle,
    /// What is done once somebody was told that the time is up.
    behind: Box<dyn Fn() + Send + Sync>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    line: Line<Arc<dyn Expires>>,
    /// Whether there is a task for it, which there is while somebody waits.
    is_kept: bool,
    expiry_task: Option<AbortHandle>,
}

impl Deadlines {
    /// Everybody waits so long; nobody does yet. The task will run where this is called, and does what is given here
    /// behind each telling.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(super) fn new(patience: Duration, behind: impl Fn() + Send + Sync + 'static) -> Self {
        let threads = Handle::current();
        let behind = Box::new(behind);
        Self(Arc::new(Shared { patience, threads, behind, kept: Mutex::default() }))
    }

    /// Somebody waits from now on, until everybody else has let go of it.
    pub(super) fn push(&self, who: Arc<dyn Expires>) {
        // Too late to be ever reached: then nobody looks.
        let Some(due) = Instant::now().checked_add(self.0.patience) else { return };
        let mut kept = self.0.kept();
        kept.line.push(due, who, is_over);
        if kept.is_kept {
            return;
        }
        kept.is_kept = true;
        // Not under the lock: a runtime that has ended drops the task at once.
        drop(kept);
        let expiry_task = self.0.threads.spawn(keep(ExpiryTask(Arc::downgrade(&self.0))));
        self.0.kept().expiry_task = Some(expiry_task.abort_handle());
    }
}

fn is_over(who: &Arc<dyn Expires>) -> bool {
    Arc::strong_count(who) == 1
}

/// Sleeps until the first in the line is due, which all that come later are after. Most are told long before.
async fn keep(mut expiry_task: ExpiryTask) {
    while let Some(next) = expiry_task.0.upgrade().and_then(|deadlines| deadlines.look()) {
        sleep_until(next).await;
    }
    // Somebody who came since has another one.
    expiry_task.0 = Weak::new();
}

/// Expires the waits in the line. Where its runtime ends before, it expires all of them: no task would do so later.
struct ExpiryTask(Weak<Shared>);

impl Drop for ExpiryTask {
    fn drop(&mut self) {
        let Some(deadlines) = self.0.upgrade() else { return };
        let left = std::mem::take(&mut *deadlines.kept());
        left.line.0.iter().for_each(|(_, who)| who.expire());
    }
}

impl Shared {
    /// Tells those whose time is up, and says when to look again: not any more, where nobody waits.
    fn look(&self) -> Option<Instant> {
        let mut kept = self.kept();
        let (due, next) = kept.line.take_due(Instant::now(), is_over);
        if next.is_none() {
            *kept = Kept::default();
        }
        // Not under the lock: whoever is told may write again.
        drop(kept);
        if !due.is_empty() {
            due.iter().for_each(|who| who.expire());
            (self.behind)();
        }
        next
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(expiry_task) = &self.kept().expiry_task {
            expiry_task.abort();
        }
    }
}

impl fmt::Debug for Deadlines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadlines").field("patience", &self.0.patience).finish_non_exhaustive()
    }
}

/// Who waits, by the time when it ends. Pure. Those whose wait is over stay in it for a while: they are taken out at its
/// front, and anywhere before it would grow, so that it is never much longer than there are others.
#[derive(Debug)]
struct Line<W>(VecDeque<(Instant, W)>);

impl<W> Line<W> {
    fn push(&mut self, due: Instant, who: W, is_over: impl Fn(&W) -> bool) {
        self.shorten(&is_over);
        let Self(line) = self;
        if line.len() == line.capacity() {
            line.retain(|(_, who)| !is_over(who));
            line.reserve(line.len()); // or each of the next would look at all again
        }
        line.push_back((due, who));
    }

    /// Those whose time is up, and when that of the next is.
    fn take_due(
        &mut self,
        now: Instant,
        is_over: impl Fn(&W) -> bool,
    ) -> (Vec<W>, Option<Instant>) {
        let mut taken = Vec::new();
        self.shorten(&is_over);
        while self.0.front().is_some_and(|(due, _)| *due <= now) {
            taken.extend(self.0.pop_front().map(|(_, who)| who));
            self.shorten(&is_over);
        }
        (taken, self.0.front().map(|(due, _)| *due))
    }

    fn shorten(&mut self, is_over: impl Fn(&W) -> bool) {
        while self.0.front().is_some_and(|(_, who)| is_over(who)) {
            self.0.pop_front();
        }
    }
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Told(AtomicBool);

    impl Expires for Told {
        fn expire(&self) {
            self.0.store(true, Ordering::Release);
        }
    }

    #[test]
    fn where_the_runtime_has_ended_nobody_waits_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let deadlines = runtime.block_on(async { Deadlines::new(SECOND * 3_600, || {}) });
        let before = Arc::new(Told(AtomicBool::new(false)));
        deadlines.push(before.clone());
        assert!(!before.0.load(Ordering::Acquire));
        drop(runtime);
        assert!(before.0.load(Ordering::Acquire), "with the runtime");
        let after = Arc::new(Told(AtomicBool::new(false)));
        deadlines.push(after.clone());
        assert!(after.0.load(Ordering::Acquire), "at once");
    }

    #[tokio::test]
    async fn those_who_wait_no_longer_are_let_go() {
        let deadlines = Deadlines::new(SECOND * 3_600, || {});
        let stays = Arc::new(Told(AtomicBool::new(false)));
        deadlines.push(stays.clone());
        for _ in 0..10_000 {
            deadlines.push(Arc::new(Told(AtomicBool::new(false))));
        }
        let kept = deadlines.0.kept().line.0.len();
        assert!(kept <= 64, "{kept} are kept for one who waits");
        drop(stays);
    }

    type Who<'a> = (u32, &'a Cell<bool>);

    fn is_over(who: &Who<'_>) -> bool {
        who.1.get()
    }

    fn numbers(due: &[Who<'_>]) -> Vec<u32> {
        due.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn those_are_due_whose_time_is_up_and_who_still_wait() {
        let (mut line, begin) = (Line::default(), Instant::now());
        let is_told: [Cell<bool>; 4] = Default::default();
        for (number, is_told) in (0..).zip(&is_told) {
            line.push(begin + SECOND * number, (number, is_told), is_over);
        }
        is_told[1].set(true);
        let (due, next) = line.take_due(begin, is_over);
        assert_eq!((numbers(&due), next), (vec![0], Some(begin + SECOND * 2)), "1 waits no more");
        is_told[3].set(true);
        let (due, next) = line.take_due(begin + SECOND * 9, is_over);
        assert_eq!((numbers(&due), next), (vec![2], None));
    }

    #[test]
    fn the_line_is_not_much_longer_than_there_are_people_who_wait() {
        let (mut line, begin) = (Line::default(), Instant::now());
        let (stays, told) = (Cell::new(false), Cell::new(false));
        line.push(begin, (0, &stays), is_over);
        for number in 1..100_000 {
            let told = if number % 10_000 == 0 { &stays } else { &told };
            line.push(begin, (number, told), is_over);
            told.set(!std::ptr::eq(told, &stays));
        }
        assert!(line.0.capacity() <= 64, "{} places for 10", line.0.capacity());
        let (due, next) = line.take_due(begin, is_over);
        assert_eq!((due.len(), next), (10, None));
    }

    /// Also where one place becomes free each time that all are taken.
    #[test]
    fn to_make_room_for_one_few_are_looked_at() {
        let (mut line, begin, looks) = (Line::default(), Instant::now(), Cell::new(0_u32));
        let counted = |who: &Who<'_>| {
            looks.set(looks.get() + 1);
            is_over(who)
        };
        let (stays, told) = (Cell::new(false), Cell::new(true));
        let mut pushed = 0;
        while pushed < 20_000 {
            let has_room = line.0.len() + 1 < line.0.capacity();
            let is_told = if has_room && pushed < 1_000 { &stays } else { &told };
            line.push(begin, (pushed, is_told), counted);
            pushed += 1;
        }
        assert!(looks.get() < pushed * 4, "{} looks for {pushed}", looks.get());
    }
}
