//! kill -9: whatever was acknowledged is there, once, as it was reported, and as somebody allowed.

use madang_proof::{
    audit::Findings,
    kill::{Campaign, KillFigures},
    test_runtime::Bug,
};

/// Different each day would be a flaky test; `make soak` takes other seeds.
const SEED: u64 = 1;

fn campaign(seed: u64, kills: u64, bug: Option<Bug>) -> Campaign {
    Campaign {
        program: env!("CARGO_BIN_EXE_proof").into(),
        seed,
        kills,
        kills_a_file: 12,
        chats: 8,
        bug,
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

/// Kills children that make this mistake until it shows.
async fn finds(bug: Bug, shows: impl Fn(&Findings) -> bool) {
    let mut findings = Findings::default();
    for seed in 0..10 {
        findings = campaign(seed, 4, Some(bug)).run(|_| ()).await.findings;
        if shows(&findings) {
            return;
        }
    }
    panic!("{bug:?} was not found: {findings:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_is_acknowledged_before_its_commit_is_found_lost() {
    finds(Bug::AcknowledgedBeforeCommit, |findings| !findings.lost.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_is_done_twice_is_found_doubled() {
    finds(Bug::Twice, |findings| !findings.doubled.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_beside_the_transaction_of_its_record_is_found_misreported() {
    finds(Bug::OtherConnection, |findings| !findings.misreported.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destructive_tool_that_asks_nobody_is_found_unasked() {
    finds(Bug::Unasked, |findings| !findings.unasked.is_empty()).await;
}
