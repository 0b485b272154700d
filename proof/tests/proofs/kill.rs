//! Tests kill -9: each acknowledged effect exists once, as reported and as approved.

use madang_proof::{
    audit::{Counter, Findings},
    kill::{Campaign, KillFigures},
    mistakes::Mistake,
};

/// Fixed, because a new seed each day would be a flaky test; `make soak` uses others.
const SEED: u64 = 1;

pub(crate) fn campaign(seed: u64, kills: u64, mistake: Option<Mistake>) -> Campaign {
    Campaign {
        program: env!("CARGO_BIN_EXE_proof").into(),
        seed,
        kills,
        kills_a_file: 12,
        chats: 8,
        mistake,
        remote: None,
        postgres: None,
    }
}

async fn killed(seed: u64, kills: u64) -> KillFigures {
    let figures = campaign(seed, kills, None).run(|_| ()).await;
    assert!(figures.findings.is_clean(), "seed {seed}: {:#?}", figures.findings);
    assert_eq!(figures.kills, kills);
    figures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_loses_nothing_doubles_nothing_and_reports_the_truth() {
    let (one, other) = tokio::join!(killed(SEED, 18), killed(SEED + 1, 18));
    let acknowledged = one.acknowledged + other.acknowledged;
    assert!(acknowledged > 150, "too little happened to prove anything: {acknowledged}");
    assert!(one.kills_at_points > 0, "some died at points of their choice");
}

/// The mistakes that kills find, and their counters.
pub(crate) const FOUND: [(Mistake, Counter); 4] = [
    (Mistake::StoreCommitsLate, Counter::Lost),
    (Mistake::ToolActsTwice, Counter::Doubled),
    (Mistake::ToolWritesElsewhere, Counter::Misreported),
    (Mistake::ToolCallsItselfHarmless, Counter::Unasked),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_of_tools_and_stores_is_found() {
    for (mistake, counter) in FOUND {
        let mut findings = Findings::default();
        for seed in 0..10 {
            findings = campaign(seed, 4, Some(mistake)).run(|_| ()).await.findings;
            if findings.of(counter).len() > 0 {
                break;
            }
        }
        assert!(findings.of(counter).len() > 0, "{mistake:?} is not {counter:?}: {findings:#?}");
    }
}
