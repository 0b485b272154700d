//! The next job of the queue, by tables.

use std::time::Duration;

use super::*;

/// The waiting jobs, as `user/session`.
fn of(name: &str) -> (UserId, SessionId) {
    let (user, session) = name.split_once('/').unwrap();
    (UserId::new(user).unwrap(), SessionId::new(session).unwrap())
}

fn queue(names: &[&'static str]) -> Queue<&'static str> {
    let mut queue = Queue::new(100, UserWeights::default());
    for name in names {
        queue.push(of(name), 0, Instant::now(), *name).unwrap();
    }
    queue
}

/// The rest, each ended with this cost before the next one begins.
fn drain(queue: &mut Queue<&'static str>, cost: impl Fn(&str) -> u32) -> String {
    let mut order = Vec::new();
    while let Some((job, charge)) = queue.next(usize::MAX) {
        let usage = Usage { prompt_tokens: cost(job), ..Usage::default() };
        queue.ended(&charge, Some(usage));
        order.push(job);
    }
    order.join(" ")
}

#[test]
fn users_take_turns_whatever_one_of_them_piles_up() {
    let mut queue = queue(&["a/1", "a/2", "a/3", "b/1", "c/1", "b/2"]);
    assert_eq!(drain(&mut queue, |_| 100), "a/1 b/1 c/1 a/2 b/2 a/3");
    assert_eq!(queue.len(), 0);
}

#[test]
fn so_do_the_sessions_of_a_user() {
    let mut queue = queue(&["a/1", "a/1", "a/1", "a/2", "a/2"]);
    assert_eq!(drain(&mut queue, |_| 100), "a/1 a/2 a/1 a/2 a/1");
}

#[test]
fn a_user_of_long_answers_gets_fewer_of_them() {
    let names = ["a/1", "a/1", "a/1", "b/1", "b/1", "b/1", "b/1", "b/1", "b/1"];
    let order = drain(&mut queue(&names), |job| if job == "a/1" { 300 } else { 100 });
    assert_eq!(order, "a/1 b/1 b/1 b/1 a/1 b/1 b/1 b/1 a/1");
}

#[test]
fn a_user_of_long_prompts_gets_fewer_of_them_although_they_fail() {
    let mut queue = Queue::new(100, UserWeights::default());
    // The prompts of one are as long as what is usual costs three times, so one costs what four of
    // the other do.
    for (name, prompt) in [("a/1", 3 * USUAL), ("b/1", 0)] {
        for _ in 0..8 {
            queue.push(of(name), prompt, Instant::now(), name).unwrap();
        }
    }
    let mut order = Vec::new();
    while let Some((job, charge)) = queue.next(usize::MAX) {
        queue.ended(&charge, None);
        order.push(job);
    }
    assert_eq!(order[..10].iter().filter(|job| **job == "a/1").count(), 2, "{order:?}");
    assert_eq!((prompt_cost(64 << 10), prompt_cost(0)), (256, 0));
}

#[test]
fn a_user_of_twice_the_weight_is_served_twice_as_much() {
    let mut queue =
        Queue::new(1_000, UserWeights::new(|user| if user.as_str() == "a" { 2 } else { 1 }));
    for name in ["a/1", "b/1"].into_iter().cycle().take(600) {
        queue.push(of(name), 0, Instant::now(), name).unwrap();
    }
    let mut served = HashMap::<&str, u32>::new();
    for number in 0..300 {
        let (job, charge) = queue.next(usize::MAX).unwrap();
        let tokens = 100 + 37 * (number % 11);
        queue.ended(&charge, Some(Usage { prompt_tokens: tokens, ..Usage::default() }));
        *served.entry(job).or_default() += tokens;
    }
    let times = f64::from(served["a/1"]) / f64::from(served["b/1"]);
    assert!((1.9..2.1).contains(&times), "{served:?}");
}

#[test]
fn whose_share_cannot_be_told_has_the_least() {
    let weights = UserWeights::new(|user| if user.as_str() == "a" { panic!("who?") } else { 500 });
    let weight = |user| weights.weight(&UserId::new(user).unwrap());
    assert_eq!((weight("a"), weight("b")), (1, UserWeights::MOST));
}

#[test]
fn a_newcomer_with_a_large_share_takes_no_more_than_that() {
    let mut queue =
        Queue::new(1_000, UserWeights::new(|user| if user.as_str() == "new" { 3 } else { 1 }));
    let usage = Some(Usage { prompt_tokens: 900, ..Usage::default() });
    for _ in 0..100 {
        queue.push(of("old/1"), 0, Instant::now(), "old").unwrap();
    }
    for _ in 0..20 {
        let (_, charge) = queue.next(usize::MAX).unwrap();
        queue.ended(&charge, usage);
    }
    for _ in 0..100 {
        queue.push(of("new/1"), 0, Instant::now(), "new").unwrap();
    }
    let mut served = HashMap::<&str, u32>::new();
    for _ in 0..40 {
        let (job, charge) = queue.next(usize::MAX).unwrap();
        queue.ended(&charge, usage);
        *served.entry(job).or_default() += 1;
    }
    assert!((29..=31).contains(&served["new"]), "{served:?}");
}

#[test]
fn what_runs_counts_before_it_is_known_what_it_costs() {
    let mut queue = queue(&["a/1", "a/2", "a/3", "b/1", "b/2"]);
    let begun: Vec<_> = std::iter::from_fn(|| queue.next(usize::MAX)).take(4).collect();
    let names: Vec<_> = begun.iter().map(|(job, _)| *job).collect();
    assert_eq!(names, ["a/1", "b/1", "a/2", "b/2"]);
    // Cancelled at once it cost nothing.
    queue.push(of("b/3"), 0, Instant::now(), "b/3").unwrap();
    queue.ended(&begun[1].1, Some(Usage::default()));
    assert_eq!(queue.next(usize::MAX).unwrap().0, "b/3");
}

#[test]
fn generated_tokens_cost_more_than_read_ones_and_known_ones_nothing() {
    let usage = Usage { prompt_tokens: 1_000, cached_tokens: 900, completion_tokens: 10 };
    assert_eq!(cost(usage), 140);
}

#[test]
fn an_absent_user_saves_nothing_up_and_a_greedy_one_is_not_forgiven() {
    let mut queue = queue(&["a/1", "a/1", "a/1", "b/1", "b/1"]);
    let (_, charge) = queue.next(usize::MAX).unwrap();
    queue.ended(&charge, Some(Usage { prompt_tokens: 1_000, ..Usage::default() }));
    let (job, charge) = queue.next(usize::MAX).unwrap();
    assert_eq!(job, "b/1");
    queue.ended(&charge, Some(Usage { prompt_tokens: 200, ..Usage::default() }));
    // A newcomer begins with what each user could have had, 600 by now: neither at nothing nor
    // before a user that had less.
    for _ in 0..3 {
        queue.push(of("c/1"), 0, Instant::now(), "c/1").unwrap();
    }
    assert_eq!(drain(&mut queue, |_| 600), "b/1 c/1 a/1 c/1 a/1 c/1");
}

#[test]
fn where_no_request_waits_or_runs_nothing_is_remembered() {
    let mut queue = queue(&["a/1", "b/1"]);
    drain(&mut queue, |_| 5_000);
    assert!(queue.users.is_empty());
}

#[test]
fn a_full_queue_gives_the_job_back() {
    let mut queue = Queue::new(1, UserWeights::default());
    queue.push(of("a/1"), 0, Instant::now(), "first").unwrap();
    assert_eq!(queue.push(of("b/1"), 0, Instant::now(), "second"), Err("second"));
}

#[test]
fn due_and_unwanted_jobs_are_taken_out_and_the_rest_keeps_its_order() {
    let mut queue = Queue::new(10, UserWeights::default());
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    for (name, due, job) in
        [("a/1", now, "due"), ("a/1", later, "a"), ("b/1", later, "unwanted"), ("c/1", later, "c")]
    {
        queue.push(of(name), 0, due, job).unwrap();
    }
    let mut taken = queue.take_out(now, |job| *job == "unwanted");
    taken.sort_unstable();
    assert_eq!(taken, ["due", "unwanted"]);
    assert_eq!(queue.next_due(), Some(later));
    assert_eq!(drain(&mut queue, |_| 1), "a c");
}

#[test]
fn newcomers_without_end_keep_no_user_waiting() {
    let mut queue = queue(&["old/1"]);
    let usage = |tokens| Some(Usage { prompt_tokens: tokens, ..Usage::default() });
    let (_, charge) = queue.next(usize::MAX).unwrap();
    queue.push(of("old/1"), 0, Instant::now(), "old/1").unwrap();
    queue.push(of("new0/1"), 0, Instant::now(), "new").unwrap();
    queue.ended(&charge, usage(1_000));
    for number in 1..100 {
        queue.push(of(&format!("new{number}/1")), 0, Instant::now(), "new").unwrap();
        let (job, charge) = queue.next(usize::MAX).unwrap();
        queue.ended(&charge, usage(1_000));
        if job == "old/1" {
            assert!(number < 8, "after {number} others");
            return;
        }
    }
    panic!("a user who was served once waits for ever");
}

#[test]
fn a_user_of_one_request_is_forgotten_though_another_always_runs() {
    let mut queue = queue(&["kim/0"]);
    let (_, mut running) = queue.next(usize::MAX).unwrap();
    for number in 1..1_000 {
        for user in ["kim".to_owned(), format!("guest{number}")] {
            queue.push(of(&format!("{user}/{number}")), 0, Instant::now(), "next").unwrap();
            let (_, next) = queue.next(usize::MAX).unwrap();
            queue.ended(&std::mem::replace(&mut running, next), None);
        }
    }
    let sessions: usize = queue.users.values().map(|user| user.sessions.len()).sum();
    assert!(queue.users.len() < 100 && sessions < 200, "{} {sessions}", queue.users.len());
}

/// The counts of the queue, and the same by a walk over all users.
fn counted(queue: &Queue<u32>) -> [(u64, Vec<[u64; 3]>); 2] {
    let by_looking = |user: &User<u32>| {
        let sessions = user.sessions.values();
        let waiting = sessions.clone().map(|session| session.jobs.len() as u64).sum();
        let running = sessions.clone().map(|session| session.running as u64).sum();
        [waiting, running, sessions.filter(|session| !session.is_away()).count() as u64]
    };
    let by_counting = |User { account, .. }: &User<u32>| {
        [account.waiting as u64, account.running as u64, account.present]
    };
    let users = || queue.users.values();
    let present = users().filter(|user| by_looking(user)[2] > 0).map(|user| user.account.weight);
    [
        (queue.present, users().map(by_counting).collect()),
        (present.sum(), users().map(by_looking).collect()),
    ]
}

proptest::proptest! {
    #[test]
    fn what_is_counted_is_what_is_there(
        steps in proptest::collection::vec((0..3_usize, 0..2_usize, 0..6_u8), 1..120),
    ) {
        let mut queue = Queue::new(8, UserWeights::new(|user| if user.as_str() == "a" { 3 } else { 1 }));
        let mut charges = Vec::new();
        let mut number = 0;
        for (user, session, step) in steps {
            let whose = of(&format!("{}/{session}", ["a", "b", "c"][user]));
            number += 1;
            match step {
                0 | 1 => drop(queue.push(whose, 0, Instant::now(), number)),
                2 if queue.len() == 0 => charges.push(queue.begin(whose, 0)),
                2 | 3 => charges.extend(queue.next(usize::MAX).map(|(_, charge)| charge)),
                4 => drop(queue.take_out(Instant::now() - Duration::from_secs(9), |job| job % 3 == 0)),
                _ => {
                    if let Some(charge) = charges.pop() {
                        queue.ended(&charge, None);
                    }
                }
            }
            let [counted, there] = counted(&queue);
            proptest::prop_assert_eq!(counted, there);
        }
    }
}

#[test]
fn a_user_that_runs_its_share_lets_others_pass_until_one_of_its_own_ends() {
    let mut queue = queue(&["a/1", "a/2", "a/3", "b/1"]);
    let (first, charge) = queue.next(2).unwrap();
    let begun: Vec<_> = std::iter::from_fn(|| queue.next(2)).map(|(job, _)| job).collect();
    assert_eq!((first, &*begun), ("a/1", &["b/1", "a/2"][..]));
    assert_eq!(queue.len(), 1, "one waits though no other does");
    queue.ended(&charge, None);
    assert_eq!(queue.next(2).unwrap().0, "a/3");
}
