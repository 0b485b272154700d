//! The completions that wait for a model. The queue is bounded, and fair by tokens spent, between
//! users and between the sessions of one user. No user runs more than a share of them at once.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use tokio::time::Instant;

use crate::{
    port::UserWeights,
    protocol::{SessionId, Usage, UserId},
};

/// Waiting jobs, in weighted fair order. The user with the least virtual time comes next, and of
/// that user the session with the least. The jobs of one session keep their order.
///
/// Virtual time counts the tokens that a user was served, divided by the user's weight; writing a
/// prompt counts by its bytes. A user with twice the weight of another is therefore served twice as
/// many tokens. The cost of a running completion is not known, so the queue charges the usual
/// amount, and corrects that when the completion ends.
///
/// The virtual clock advances by all that is served, divided among the users that wait or run. A
/// user that comes or comes back begins at the clock. So no user saves up for later or gains by
/// being new. A user that had too much is even again after the others have had as much.
#[derive(Debug)]
pub(super) struct Queue<J> {
    weights: UserWeights,
    users: HashMap<UserId, User<J>, RandomState>,
    /// The tokens that each user could be served until now: a user that comes begins here.
    virtual_clock: u64,
    /// The sum of the weights of all users that are not away.
    present: u64,
    /// The number of the latest job.
    came: u64,
    /// The ends since the queue last forgot users.
    ended: usize,
    running: usize,
    len: usize,
    max_len: usize,
}

#[derive(Debug)]
struct User<J> {
    account: Account,
    sessions: HashMap<SessionId, Session<J>, RandomState>,
}

/// The account of a user. Its counts avoid a walk over its sessions.
#[derive(Debug)]
struct Account {
    weight: u64,
    virtual_time: u64,
    virtual_clock: u64,
    running: usize,
    waiting: usize,
    /// The number of its sessions that are not away.
    present: u64,
}

#[derive(Debug)]
struct Session<J> {
    virtual_time: u64,
    running: usize,
    jobs: VecDeque<Waiting<J>>,
}

#[derive(Debug)]
struct Waiting<J> {
    job: J,
    due: Instant,
    came: u64,
    /// The cost of its prompt alone.
    prompt: u64,
}

/// The charge of a running completion: its prompt and the [`USUAL`] amount. It is returned when the
/// completion ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Charge {
    /// The charge for the prompt's bytes.
    prompt: u64,
    user: UserId,
    /// The weight of the user when the completion began.
    weight: u64,
    session: SessionId,
}

/// The charge before a completion's cost is known: a question with its tools, and an answer of a
/// paragraph.
const USUAL: u64 = 512;
/// The ends after which users are forgotten, which means a walk over all of them.
const FORGETS_AFTER: usize = 64;
/// The tokens of a prompt that take as long as one generated token.
const GENERATED: u64 = 4;

/// The bytes of a prompt that take as long to write as one token of it takes to read. At 4 us a
/// letter, the slowest measured, that is a millisecond. They are charged even if the completion
/// fails or is cancelled.
const WRITTEN_BYTES: usize = 256;

/// Returns the cost of writing a request's prompt, in tokens of a prompt.
pub(super) fn prompt_cost(bytes: usize) -> u64 {
    (bytes / WRITTEN_BYTES) as u64
}

/// The parts of a token that are counted, for weights that do not divide.
const PARTS: u64 = 1_024;

/// Returns what a completion took from others, in tokens of a prompt, and at least one. Cached
/// tokens cost nothing.
fn cost(usage: Usage) -> u64 {
    let read = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
    (u64::from(read) + GENERATED * u64::from(usage.completion_tokens)).max(1)
}

/// Returns the charge before a completion ends, in parts.
fn charged(prompt: u64) -> u64 {
    PARTS.saturating_mul(USUAL + prompt)
}

impl<J> Queue<J> {
    pub(super) fn new(max_len: usize, weights: UserWeights) -> Self {
        let users = HashMap::default();
        Self {
            weights,
            users,
            virtual_clock: 0,
            present: 0,
            came: 0,
            ended: 0,
            running: 0,
            len: 0,
            max_len,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Adds a job whose prompt costs this much and that must begin by `due`, or returns it if too
    /// many wait.
    pub(super) fn push(
        &mut self,
        (user, session): (UserId, SessionId),
        prompt: u64,
        due: Instant,
        job: J,
    ) -> Result<(), J> {
        if self.len >= self.max_len {
            return Err(job);
        }
        self.came += 1;
        self.len += 1;
        let came = self.came;
        let (account, session, _) = self.enter(user, session);
        account.waiting += 1;
        session.jobs.push_back(Waiting { job, due, came, prompt });
        Ok(())
    }

    /// Charges a completion that begins at once, because none waits.
    pub(super) fn begin(&mut self, (user, session): (UserId, SessionId), prompt: u64) -> Charge {
        let charge = (user.clone(), session.clone());
        let (account, session, virtual_clock) = self.enter(user, session);
        let weight = account.weight;
        *virtual_clock = account.begin(session, prompt).max(*virtual_clock);
        self.running += 1;
        Charge { prompt, user: charge.0, weight, session: charge.1 }
    }

    /// Counts a user and its session as present from here on.
    fn enter(
        &mut self,
        user: UserId,
        session: SessionId,
    ) -> (&mut Account, &mut Session<J>, &mut u64) {
        let virtual_clock = self.virtual_clock;
        let weight = u64::from(self.weights.weight(&user));
        let User { account, sessions } = self.users.entry(user).or_insert_with(|| User {
            account: Account {
                weight,
                virtual_time: virtual_clock,
                virtual_clock,
                running: 0,
                waiting: 0,
                present: 0,
            },
            sessions: HashMap::default(),
        });
        if account.is_away() {
            account.virtual_time = account.virtual_time.max(virtual_clock);
        } else {
            self.present -= account.weight;
        }
        self.present += weight;
        account.weight = weight;
        let virtual_clock = account.virtual_clock;
        let session = sessions.entry(session).or_insert_with(|| Session {
            virtual_time: virtual_clock,
            running: 0,
            jobs: VecDeque::new(),
        });
        if session.is_away() {
            session.virtual_time = session.virtual_time.max(virtual_clock);
            account.present += 1;
        }
        (account, session, &mut self.virtual_clock)
    }

    /// Counts the completions of a user that run.
    pub(super) fn running_of(&self, user: &UserId) -> usize {
        self.users.get(user).map_or(0, |user| user.account.running)
    }

    /// Takes the job that is next, among those of users that run fewer than so many.
    pub(super) fn next(&mut self, max_of_user: usize) -> Option<(J, Charge)> {
        let may_run = |account: &Account| account.waiting > 0 && account.running < max_of_user;
        let waiting = self.users.iter_mut().filter(|(_, user)| may_run(&user.account));
        let next = waiting.filter_map(|(name, user)| {
            let came = user.sessions.values().filter_map(Session::first).min()?;
            Some(((user.account.virtual_time, came), name.clone(), user))
        });
        let (_, name, User { account, sessions }) = next.min_by_key(|(order, ..)| *order)?;
        let waiting = sessions.iter_mut().filter_map(|(name, session)| {
            Some(((session.virtual_time, session.first()?), name.clone(), session))
        });
        let (_, of, session) = waiting.min_by_key(|(order, ..)| *order)?;
        let next = session.jobs.pop_front()?;
        account.waiting -= 1;
        let weight = account.weight;
        let prompt = next.prompt;
        self.virtual_clock = account.begin(session, prompt).max(self.virtual_clock);
        self.len -= 1;
        self.running += 1;
        Some((next.job, Charge { prompt, user: name, weight, session: of }))
    }

    /// Corrects the charge of a completion that ended. `spent` is `None` if its cost is unknown.
    pub(super) fn ended(&mut self, charge: &Charge, spent: Option<Usage>) {
        let cost = PARTS.saturating_mul(charge.prompt + spent.map_or(USUAL, cost));
        let put_right = |virtual_time: u64, weight: u64| {
            virtual_time
                .saturating_sub(charged(charge.prompt) / weight)
                .saturating_add(cost / weight)
        };
        let each = |weights: u64| (cost / weights.max(1)).max(1);
        self.virtual_clock += each(self.present);
        if let Some(User { account, sessions }) = self.users.get_mut(&charge.user) {
            account.virtual_clock += each(account.present);
            account.running -= 1;
            account.virtual_time = put_right(account.virtual_time, charge.weight);
            if let Some(session) = sessions.get_mut(&charge.session) {
                session.running -= 1;
                session.virtual_time = put_right(session.virtual_time, 1);
                account.present -= u64::from(session.is_away());
            }
            if account.is_away() {
                self.present -= account.weight;
            }
        }
        self.running -= 1;
        self.ended += 1;
        self.forget();
    }

    /// Takes out every job that is due or no longer wanted.
    pub(super) fn take_out(&mut self, now: Instant, is_unwanted: impl Fn(&J) -> bool) -> Vec<J> {
        self.take_out_if(|waiting| waiting.due <= now || is_unwanted(&waiting.job))
    }

    /// Takes jobs out, in the order in which they came.
    fn take_out_if(&mut self, goes: impl Fn(&Waiting<J>) -> bool) -> Vec<J> {
        let mut taken = Vec::new();
        if self.len == 0 {
            return Vec::new();
        }
        for User { account, sessions } in self.users.values_mut() {
            if account.waiting == 0 {
                continue;
            }
            for session in sessions.values_mut().filter(|session| !session.jobs.is_empty()) {
                let (out, keep): (VecDeque<_>, _) = session.jobs.drain(..).partition(&goes);
                session.jobs = keep;
                account.waiting -= out.len();
                account.present -= u64::from(session.is_away());
                taken.extend(out);
            }
            if account.is_away() {
                self.present -= account.weight;
            }
        }
        self.len -= taken.len();
        self.forget();
        taken.sort_unstable_by_key(|waiting| waiting.came);
        taken.into_iter().map(|waiting| waiting.job).collect()
    }

    /// Takes out every job.
    pub(super) fn take_all(&mut self) -> Vec<J> {
        self.take_out_if(|_| true)
    }

    /// Returns the moment at which the first job is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        if self.len == 0 {
            return None;
        }
        let sessions = self.users.values().flat_map(|user| user.sessions.values());
        sessions.flat_map(|session| &session.jobs).map(|waiting| waiting.due).min()
    }

    /// Forgets, from time to time, users that are away and were served no more than others; if none
    /// waits or runs, all users.
    fn forget(&mut self) {
        if self.len == 0 && self.running == 0 {
            return self.users.clear();
        }
        if self.ended < FORGETS_AFTER {
            return;
        }
        self.ended = 0;
        for User { account, sessions } in self.users.values_mut() {
            sessions.retain(|_, session| {
                !session.is_away() || session.virtual_time > account.virtual_clock
            });
        }
        let virtual_clock = self.virtual_clock;
        self.users.retain(|_, User { account, .. }| {
            !account.is_away() || account.virtual_time > virtual_clock
        });
    }
}

impl Account {
    fn is_away(&self) -> bool {
        self.running == 0 && self.waiting == 0
    }

    /// Charges user and session with the prompt and the usual amount. Returns the user's virtual
    /// time before.
    fn begin<J>(&mut self, session: &mut Session<J>, prompt: u64) -> u64 {
        self.virtual_clock = self.virtual_clock.max(session.virtual_time);
        session.virtual_time = session.virtual_time.saturating_add(charged(prompt));
        session.running += 1;
        let virtual_time = self.virtual_time;
        self.virtual_time = self.virtual_time.saturating_add(charged(prompt) / self.weight);
        self.running += 1;
        virtual_time
    }
}

impl<J> Session<J> {
    fn is_away(&self) -> bool {
        self.running == 0 && self.jobs.is_empty()
    }

    /// Returns the number of its first job.
    fn first(&self) -> Option<u64> {
        self.jobs.front().map(|waiting| waiting.came)
    }
}

#[cfg(test)]
#[path = "tests/queue.rs"]
mod tests;
