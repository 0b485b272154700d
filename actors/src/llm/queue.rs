//! The completions that wait for a model: bounded, and fair by what was spent, between users and between the sessions of
//! one user.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use tokio::time::Instant;

use crate::{
    port::UserWeights,
    protocol::{SessionId, Usage, UserId},
};

/// Waiting jobs, in weighted fair order. The user with the least virtual time comes next, and of that user the session with
/// the least. The jobs of one session keep their order.
///
/// Virtual time counts the tokens that a user was served, divided by the user's weight; writing a prompt counts by its bytes.
/// A user with twice the weight of another comes as often with twice the tokens. The cost of a running completion is not
/// known, so the queue charges what is usual, and corrects that when the completion ends.
///
/// The virtual clock advances by all that is served, divided among the users who wait or run. A user who comes or comes back
/// begins there. So no user saves up for later or gains by being new, and a user who had too much is even again once the
/// others have had as much.
#[derive(Debug)]
pub(super) struct Queue<J> {
    weights: UserWeights,
    users: HashMap<UserId, User<J>, RandomState>,
    /// How much each user could have been served: where a user who comes begins.
    virtual_clock: u64,
    /// The weights of all users who are not away.
    present: u64,
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
    account: Account,
    sessions: HashMap<SessionId, Session<J>, RandomState>,
}

/// What is known of a user. Its counts spare looking at every session.
#[derive(Debug)]
struct Account {
    weight: u64,
    virtual_time: u64,
    virtual_clock: u64,
    running: usize,
    waiting: usize,
    /// How many of its sessions are not away.
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
    /// What its prompt alone costs.
    prompt: u64,
}

/// Whose completion runs and was charged with its prompt and what is [`USUAL`]. To be given back when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Charge {
    /// What was charged for the prompt's bytes.
    prompt: u64,
    user: UserId,
    /// The user's when it began.
    weight: u64,
    session: SessionId,
}

/// What a completion is charged with before it is known: a question with its tools, and an answer of a paragraph.
const USUAL: u64 = 512;
/// After so many ends it is looked who can be forgotten, which means looking at everybody.
const FORGETS_AFTER: usize = 64;
/// A token that is generated takes as long as so many of a prompt.
const GENERATED: u64 = 4;

/// So many bytes of a prompt take as long to be written as a token of it takes to be read: at 4 us a letter, the slowest that
/// was measured, a millisecond. They are charged although the completion fails or is cancelled.
const WRITTEN_BYTES: usize = 256;

/// What writing the prompt of a request costs, in tokens of a prompt.
pub(super) fn prompt_cost(bytes: usize) -> u64 {
    (bytes / WRITTEN_BYTES) as u64
}

/// So many parts of a token are counted, for weights that do not divide.
const PARTS: u64 = 1_024;

/// What a completion took from others, in tokens of a prompt, and at least one. What was known from before cost nothing.
fn cost(usage: Usage) -> u64 {
    let read = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
    (u64::from(read) + GENERATED * u64::from(usage.completion_tokens)).max(1)
}

/// What is charged before a completion ends, in parts.
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

    /// Takes a job whose prompt costs so much and that must be begun by `due`, or gives it back if too many wait.
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

    /// Somebody begins at once, because nobody waits.
    pub(super) fn begin(&mut self, (user, session): (UserId, SessionId), prompt: u64) -> Charge {
        let charge = (user.clone(), session.clone());
        let (account, session, virtual_clock) = self.enter(user, session);
        let weight = account.weight;
        *virtual_clock = account.begin(session, prompt).max(*virtual_clock);
        self.running += 1;
        Charge { prompt, user: charge.0, weight, session: charge.1 }
    }

    /// Somebody comes, and is not away from here on.
    fn enter(
        &mut self,
        user: UserId,
        session: SessionId,
    ) -> (&mut Account, &mut Session<J>, &mut u64) {
        let virtual_clock = self.virtual_clock;
        let weight = u64::from(self.weights.of(&user));
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

    /// The job whose turn it is.
    pub(super) fn next(&mut self) -> Option<(J, Charge)> {
        let waiting = self.users.iter_mut().filter(|(_, user)| user.account.waiting > 0);
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

    /// A completion ended, and this was spent on it; `None` if nobody knows.
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

    /// Takes out every job that is due, or that nobody wants any more.
    pub(super) fn take_out(&mut self, now: Instant, is_unwanted: impl Fn(&J) -> bool) -> Vec<J> {
        self.take_out_if(|waiting| waiting.due <= now || is_unwanted(&waiting.job))
    }

    /// Gives them in the order in which they came.
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

    /// When the first job is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        if self.len == 0 {
            return None;
        }
        let sessions = self.users.values().flat_map(|user| user.sessions.values());
        sessions.flat_map(|session| &session.jobs).map(|waiting| waiting.due).min()
    }

    /// Forgets users who are away and were served no more than others, from time to time; where nobody waits or runs, everybody.
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

    /// Charges user and session with the prompt and what is usual. Gives the user's virtual time before.
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

    /// When its first job came.
    fn first(&self) -> Option<u64> {
        self.jobs.front().map(|waiting| waiting.came)
    }
}

#[cfg(test)]
#[path = "tests/queue.rs"]
mod tests;
