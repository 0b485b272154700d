//! The completions that wait for a model: bounded, and fair by what was spent, between users and between the sessions of
//! one user.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

use crate::{
    port::Shares,
    protocol::{SessionId, Usage, UserId},
};

/// Waiting jobs. Whoever was served least comes next: of the users, and of a user's sessions. The jobs of one session keep
/// their order.
///
/// Served is counted in tokens, by the user's share: whoever has twice the share of another comes as often with twice the
/// tokens. While a completion runs nobody knows what it will cost, so it is charged with what is
/// usual, and put right when it ends. All that is served is shared out among those who wait or run: so much everybody could
/// have had, and whoever comes or comes back begins there. So nobody saves up for later, nobody comes before others by
/// being new, and what somebody had too much is forgotten once the others have had as much.
#[derive(Debug)]
pub(super) struct Queue<J> {
    shares: Shares,
    users: HashMap<UserId, User<J>>,
    /// How much everybody could have been served.
    level: u64,
    /// Numbers the jobs as they came.
    came: u64,
    /// So many have ended since it was looked who can be forgotten.
    ended: usize,
    running: usize,
    len: usize,
    max_len: usize,
}

#[derive(Debug)]
struct User<J> {
    share: u64,
    served: u64,
    level: u64,
    running: usize,
    sessions: HashMap<SessionId, Session<J>>,
}

#[derive(Debug)]
struct Session<J> {
    served: u64,
    running: usize,
    jobs: VecDeque<Waiting<J>>,
}

#[derive(Debug)]
struct Waiting<J> {
    job: J,
    due: Instant,
    came: u64,
}

/// Whose completion runs and was charged with what is [`USUAL`]. To be given back when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Charge {
    user: UserId,
    /// The user's when it began.
    share: u64,
    session: SessionId,
}

/// What a completion is charged with before it is known: a question with its tools, and an answer of a paragraph.
const USUAL: u64 = 512;
/// After so many ends it is looked who can be forgotten, which means looking at everybody.
const FORGETS_AFTER: usize = 64;
/// A token that is generated takes as long as so many of a prompt.
const GENERATED: u64 = 4;

/// So many parts of a token are counted, for shares that do not divide.
const PARTS: u64 = 1_024;

/// What a completion took from others, in tokens of a prompt, and at least one. What was known from before cost nothing.
fn cost(usage: Usage) -> u64 {
    let read = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
    (u64::from(read) + GENERATED * u64::from(usage.completion_tokens)).max(1)
}

impl<J> Queue<J> {
    pub(super) fn new(max_len: usize, shares: Shares) -> Self {
        let users = HashMap::new();
        Self { shares, users, level: 0, came: 0, ended: 0, running: 0, len: 0, max_len }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Takes a job that must be begun by `due`, or gives it back if too many wait.
    pub(super) fn push(
        &mut self,
        (user, session): (UserId, SessionId),
        due: Instant,
        job: J,
    ) -> Result<(), J> {
        if self.len >= self.max_len {
            return Err(job);
        }
        let level = self.level;
        let share = u64::from(self.shares.of(&user));
        let user = self.users.entry(user).or_insert_with(|| User {
            share,
            served: level,
            level,
            running: 0,
            sessions: HashMap::new(),
        });
        user.share = share;
        if user.is_away() {
            user.served = user.served.max(level);
        }
        let level = user.level;
        let session = user.sessions.entry(session).or_insert_with(|| Session {
            served: level,
            running: 0,
            jobs: VecDeque::new(),
        });
        if session.is_away() {
            session.served = session.served.max(level);
        }
        self.came += 1;
        session.jobs.push_back(Waiting { job, due, came: self.came });
        self.len += 1;
        Ok(())
    }

    /// The job whose turn it is.
    pub(super) fn next(&mut self) -> Option<(J, Charge)> {
        let next = self.users.iter_mut().filter_map(|(name, user)| {
            let came = user.sessions.values().filter_map(Session::first).min()?;
            Some(((user.served, came), name.clone(), user))
        });
        let (_, name, user) = next.min_by_key(|(order, ..)| *order)?;
        self.level = self.level.max(user.served);
        let sessions = user.sessions.iter_mut().filter_map(|(name, session)| {
            Some(((session.served, session.first()?), name.clone(), session))
        });
        let (_, of, session) = sessions.min_by_key(|(order, ..)| *order)?;
        let next = session.jobs.pop_front()?;
        user.level = user.level.max(session.served);
        session.served += USUAL * PARTS;
        session.running += 1;
        user.served += USUAL * PARTS / user.share;
        user.running += 1;
        self.len -= 1;
        self.running += 1;
        Some((next.job, Charge { user: name, share: user.share, session: of }))
    }

    /// A completion ended, and this was spent on it; `None` if nobody knows.
    pub(super) fn ended(&mut self, charge: &Charge, spent: Option<Usage>) {
        let cost = PARTS * spent.map_or(USUAL, cost);
        let put_right = |served: u64, share: u64| {
            served.saturating_sub(USUAL * PARTS / share).saturating_add(cost / share)
        };
        let each = |shares: u64| (cost / shares.max(1)).max(1);
        let active = self.users.values().filter(|user| !user.is_away());
        self.level += each(active.map(|user| user.share).sum());
        if let Some(user) = self.users.get_mut(&charge.user) {
            let active = user.sessions.values().filter(|session| !session.is_away()).count();
            user.level += each(active as u64);
            user.running -= 1;
            user.served = put_right(user.served, charge.share);
            if let Some(session) = user.sessions.get_mut(&charge.session) {
                session.running -= 1;
                session.served = put_right(session.served, 1);
            }
        }
        self.running -= 1;
        self.ended += 1;
        self.forget();
    }

    /// Takes out every job that is due, or that nobody wants any more.
    pub(super) fn take_out(&mut self, now: Instant, is_unwanted: impl Fn(&J) -> bool) -> Vec<J> {
        let mut taken = Vec::new();
        if self.len == 0 {
            return taken;
        }
        for session in self.users.values_mut().flat_map(|user| user.sessions.values_mut()) {
            let (out, keep): (VecDeque<_>, _) = session
                .jobs
                .drain(..)
                .partition(|waiting| waiting.due <= now || is_unwanted(&waiting.job));
            session.jobs = keep;
            taken.extend(out.into_iter().map(|waiting| waiting.job));
        }
        self.len -= taken.len();
        self.forget();
        taken
    }

    /// When the first job is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        if self.len == 0 {
            return None;
        }
        let sessions = self.users.values().flat_map(|user| user.sessions.values());
        sessions.flat_map(|session| &session.jobs).map(|waiting| waiting.due).min()
    }

    /// Forgets who is away and was served no more than others, from time to time; where nobody waits or runs, everybody.
    fn forget(&mut self) {
        if self.len == 0 && self.running == 0 {
            return self.users.clear();
        }
        if self.ended < FORGETS_AFTER {
            return;
        }
        self.ended = 0;
        for user in self.users.values_mut() {
            let level = user.level;
            user.sessions.retain(|_, session| !session.is_away() || session.served > level);
        }
        let level = self.level;
        self.users.retain(|_, user| !user.is_away() || user.served > level);
    }
}

impl<J> User<J> {
    fn is_away(&self) -> bool {
        self.running == 0 && self.sessions.values().all(|session| session.jobs.is_empty())
    }
}

impl<J> Session<J> {
    fn is_away(&self) -> bool {
        self.running == 0 && self.jobs.is_empty()
    }

    /// When its first job came.
    fn first(&self) -> Option<u64> {
        self.jobs.front().map(|waiting| waiting.came)
    }
}

#[cfg(test)]
#[path = "tests/queue.rs"]
mod tests;
