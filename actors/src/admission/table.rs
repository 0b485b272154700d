//! The table of admission: how many permits each user holds, and all users together. Pure. The
//! caller passes how long permits were held.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::protocol::{Bound, LimitExceeded, Limits, Scope, UserId};

const BOUNDS: usize = Bound::ALL.len();

/// How many permits each user holds. `W` is a caller that waits for one.
#[derive(Debug)]
pub(super) struct AdmissionTable<W> {
    max: [Max; BOUNDS],
    all: [Permits; BOUNDS],
    /// Users that hold at least one permit.
    users: HashMap<UserId, [Permits; BOUNDS]>,
    /// How long permits were held lately, a moving average.
    usual: [Option<Duration>; BOUNDS],
    /// Callers in order of arrival. A free permit goes to the first of them whose user may have it.
    waiting: VecDeque<Waiting<W>>,
}

#[derive(Debug, Clone, Copy)]
struct Max {
    all: usize,
    of_user: usize,
}

/// The permits of one bound: of a user or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Permits {
    held: usize,
    /// Callers that were refused with a time to try again.
    refused: u32,
}

#[derive(Debug)]
struct Waiting<W> {
    bound: Bound,
    user: UserId,
    waiter: W,
}

impl<W> AdmissionTable<W> {
    pub(super) fn new(limits: &Limits) -> Self {
        let max = Bound::ALL.map(|bound| match bound {
            Bound::AwakeSessions => {
                Max { all: limits.max_awake_sessions, of_user: limits.max_awake_sessions_per_user }
            }
            Bound::RunningTurns => {
                Max { all: limits.max_running_turns, of_user: limits.max_running_turns_per_user }
            }
            Bound::ApprovalRequests => Max {
                all: limits.max_approval_requests,
                of_user: limits.max_approval_requests_per_user,
            },
            Bound::Inboxes => Max { all: limits.max_inboxes, of_user: limits.max_inboxes_per_user },
            Bound::RunningCalls => {
                Max { all: limits.max_running_calls, of_user: limits.max_running_calls_per_user }
            }
            Bound::QueuedBytes => {
                Max { all: limits.max_queued_bytes, of_user: limits.max_queued_bytes_per_user }
            }
            // The slot of each session counts its own messages, and the store counts stored bytes.
            Bound::WaitingMessages | Bound::StoredBytes => {
                Max { all: usize::MAX, of_user: usize::MAX }
            }
        });
        Self {
            max,
            all: [Permits::default(); BOUNDS],
            users: HashMap::new(),
            usual: [None; BOUNDS],
            waiting: VecDeque::new(),
        }
    }

    /// Counts the permits that all users hold together.
    pub(super) const fn held(&self, bound: Bound) -> usize {
        self.all[bound as usize].held
    }

    fn held_by(&self, bound: Bound, user: &UserId) -> usize {
        self.users.get(user).map_or(0, |of_user| of_user[bound as usize].held)
    }

    /// Takes permits, or counts a refusal and returns its reason and the time after which to retry.
    pub(super) fn admit(
        &mut self,
        bound: Bound,
        user: &UserId,
        permits: usize,
    ) -> Result<(), LimitExceeded> {
        let admitted = self.try_admit(bound, user, permits);
        if let Err(refusal) = &admitted
            && refusal.retry_after.is_some()
        {
            let full = match refusal.scope {
                Scope::All => Some(&mut self.all[bound as usize]),
                Scope::User | Scope::Session => {
                    self.users.get_mut(user).map(|of_user| &mut of_user[bound as usize])
                }
            };
            full.into_iter().for_each(|full| full.refused = full.refused.saturating_add(1));
        }
        admitted
    }

    /// Does the same without counting a refusal.
    pub(super) fn try_admit(
        &mut self,
        bound: Bound,
        user: &UserId,
        permits: usize,
    ) -> Result<(), LimitExceeded> {
        self.take(bound, user, permits).map_err(|scope| {
            let max = self.max[bound as usize];
            let (max, full) = match scope {
                Scope::All => (max.all, Some(&self.all[bound as usize])),
                Scope::User | Scope::Session => {
                    (max.of_user, self.users.get(user).map(|of_user| &of_user[bound as usize]))
                }
            };
            let usual = self.usual[bound as usize];
            let retry_after = full.zip(usual).map(|(full, usual)| full.retry_after(bound, usual));
            LimitExceeded { bound, scope, max, retry_after }
        })
    }

    /// Takes permits, or returns whose limit is reached. It counts no refusal: a caller that waits
    /// comes for no later permit.
    pub(super) fn take(
        &mut self,
        bound: Bound,
        user: &UserId,
        permits: usize,
    ) -> Result<(), Scope> {
        let max = self.max[bound as usize];
        if self.held_by(bound, user).saturating_add(permits) > max.of_user {
            return Err(Scope::User);
        }
        if self.held(bound).saturating_add(permits) > max.all {
            return Err(Scope::All);
        }
        self.all[bound as usize].held += permits;
        self.users.entry(user.clone()).or_default()[bound as usize].held += permits;
        Ok(())
    }

    /// Returns whether a waiting caller could have a permit of this user, if the user freed it.
    pub(super) fn is_wanted(&self, bound: Bound, user: &UserId) -> bool {
        let is_full = self.held(bound) >= self.max[bound as usize].all;
        let wants =
            |waiting: &Waiting<W>| waiting.bound == bound && (is_full || waiting.user == *user);
        self.waiting.iter().any(wants)
    }

    /// Remembers a caller that waits for one permit.
    pub(super) fn wait(&mut self, bound: Bound, user: UserId, waiter: W) {
        self.waiting.push_back(Waiting { bound, user, waiter });
    }

    /// Forgets the waiting callers that are gone.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&W) -> bool) {
        self.waiting.retain(|waiting| !is_gone(&waiting.waiter));
    }

    /// Takes permits back that were held for this long. Returns the waiting callers that get them
    /// now, and forgets those that are gone.
    pub(super) fn release(
        &mut self,
        bound: Bound,
        user: &UserId,
        permits: usize,
        held_for: Duration,
        is_there: impl Fn(&W) -> bool,
    ) -> Vec<(Bound, UserId, W)> {
        self.all[bound as usize].release(permits);
        if let Some(of_user) = self.users.get_mut(user) {
            of_user[bound as usize].release(permits);
            if of_user.iter().all(|of_user| of_user.held == 0) {
                self.users.remove(user);
            }
        }
        let usual = &mut self.usual[bound as usize];
        *usual = Some(usual.map_or(held_for, |usual| (usual * 7 + held_for) / 8));
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let mut served = Vec::new();
        let mut rest = VecDeque::with_capacity(self.waiting.len());
        for waiting in std::mem::take(&mut self.waiting) {
            if !is_there(&waiting.waiter) {
                continue;
            }
            let is_free = waiting.bound == bound && served.len() < permits;
            if is_free && self.take(bound, &waiting.user, 1).is_ok() {
                served.push((bound, waiting.user, waiting.waiter));
            } else {
                rest.push_back(waiting);
            }
        }
        self.waiting = rest;
        served
    }
}

impl Permits {
    /// Estimates when one more refused caller can have a permit. Permits that are held as long as
    /// usual come free one after the other. Each refused caller receives a time of its own, so that
    /// not all of them come for the first permit. Few callers hold bytes, and these come free in no
    /// order.
    fn retry_after(&self, bound: Bound, usual: Duration) -> Duration {
        const LONGEST: Duration = Duration::from_secs(60);
        let holders = if bound == Bound::QueuedBytes { 1 } else { self.held.max(1) };
        let one = usual / u32::try_from(holders).unwrap_or(u32::MAX);
        one.saturating_mul(self.refused.saturating_add(1)).clamp(Duration::from_millis(1), LONGEST)
    }

    fn release(&mut self, permits: usize) {
        self.held -= permits;
        self.refused = self.refused.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn table(all: usize, of_user: usize) -> AdmissionTable<u32> {
        AdmissionTable::new(&Limits {
            max_running_turns: all,
            max_running_turns_per_user: of_user,
            ..Limits::default()
        })
    }

    const TURNS: Bound = Bound::RunningTurns;
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_refusal_says_whose_bound_was_reached_and_when_to_come_again() {
        let mut table = table(3, 2);
        let kim = user("kim");
        let lee = user("lee");
        let refusal =
            |scope, max, retry_after| Err(LimitExceeded { bound: TURNS, scope, max, retry_after });
        table.admit(TURNS, &kim, 1).unwrap();
        table.admit(TURNS, &kim, 1).unwrap();
        assert_eq!(table.admit(TURNS, &kim, 1), refusal(Scope::User, 2, None), "not known yet");
        table.admit(TURNS, &lee, 1).unwrap();
        assert_eq!(table.admit(TURNS, &lee, 1), refusal(Scope::All, 3, None));
        table.release(TURNS, &lee, 1, SECOND * 6, |_| true);
        assert_eq!(table.admit(TURNS, &kim, 1), refusal(Scope::User, 2, Some(SECOND * 3)));
        assert_eq!(table.admit(TURNS, &kim, 1), refusal(Scope::User, 2, Some(SECOND * 6)));
        table.admit(TURNS, &lee, 1).unwrap();
        assert_eq!(table.admit(TURNS, &lee, 1), refusal(Scope::All, 3, Some(SECOND * 2)));
        assert_eq!(table.admit(TURNS, &lee, 1), refusal(Scope::All, 3, Some(SECOND * 4)));
    }

    #[test]
    fn a_waiter_gets_the_first_free_permit_of_its_own_user() {
        let mut table = table(2, 1);
        let kim = user("kim");
        let lee = user("lee");
        table.admit(TURNS, &kim, 1).unwrap();
        table.admit(TURNS, &lee, 1).unwrap();
        for (waiter, who) in [(1, &kim), (2, &lee), (3, &lee)] {
            table.wait(TURNS, who.clone(), waiter);
        }
        assert_eq!(table.release(TURNS, &lee, 1, SECOND, |_| true), [(TURNS, lee.clone(), 2)]);
        assert_eq!(table.release(TURNS, &lee, 1, SECOND, |waiter| *waiter != 3), []);
        assert_eq!(table.release(TURNS, &kim, 1, SECOND, |_| true), [(TURNS, kim.clone(), 1)]);
        assert!(table.waiting.is_empty());
    }

    #[test]
    fn a_caller_that_waits_puts_no_other_off() {
        let mut table = table(3, 1);
        let kim = user("kim");
        let lee = user("lee");
        table.admit(TURNS, &kim, 1).unwrap();
        table.wait(TURNS, kim.clone(), 1);
        for _ in 0..100 {
            table.admit(TURNS, &lee, 1).unwrap();
            table.release(TURNS, &lee, 1, SECOND, |_| true);
        }
        for _ in 0..100 {
            let refusal = table.try_admit(TURNS, &kim, 1).unwrap_err();
            assert_eq!(refusal.retry_after, Some(SECOND));
        }
        let refusal = table.admit(TURNS, &kim, 1).unwrap_err();
        assert_eq!(refusal.retry_after, Some(SECOND));
    }

    #[test]
    fn a_user_who_holds_nothing_is_forgotten() {
        let mut table = table(2, 1);
        let kim = user("kim");
        table.admit(Bound::QueuedBytes, &kim, 10).unwrap();
        table.admit(TURNS, &kim, 1).unwrap();
        table.release(TURNS, &kim, 1, SECOND, |_| true);
        assert_eq!(table.users.len(), 1);
        table.release(Bound::QueuedBytes, &kim, 10, SECOND, |_| true);
        assert_eq!((table.users.len(), table.all), (0, [Permits::default(); BOUNDS]));
    }

    proptest! {
        #[test]
        fn no_bound_is_ever_passed_and_nothing_is_counted_twice_or_lost(
            steps in prop::collection::vec((0..3_usize, 0..4_u8), 1..200),
        ) {
            let names = ["a", "b", "c"].map(user);
            let mut table = table(5, 3);
            let mut held = [0_usize; 3];
            let mut waiting = 0_u32;
            for (who, step) in steps {
                match step {
                    0 | 1 => {
                        let fits = held[who] < 3 && held.iter().sum::<usize>() < 5;
                        prop_assert_eq!(table.admit(TURNS, &names[who], 1).is_ok(), fits);
                        held[who] += usize::from(fits);
                    }
                    2 => {
                        waiting += 1;
                        if table.admit(TURNS, &names[who], 1).is_ok() {
                            held[who] += 1;
                        } else {
                            table.wait(TURNS, names[who].clone(), waiting);
                        }
                    }
                    _ if held[who] > 0 => {
                        held[who] -= 1;
                        for (_, served, _) in table.release(TURNS, &names[who], 1, SECOND, |_| true) {
                            held[names.iter().position(|name| *name == served).unwrap()] += 1;
                        }
                    }
                    _ => {}
                }
                prop_assert!(held.iter().all(|held| *held <= 3) && held.iter().sum::<usize>() <= 5);
                prop_assert_eq!(table.held(TURNS), held.iter().sum::<usize>());
                let stuck = table.waiting.iter().any(|waiting| {
                    table.held(TURNS) < 5 && table.held_by(TURNS, &waiting.user) < 3
                });
                prop_assert!(!stuck, "no waiter stands before a free permit");
            }
        }
    }
}
