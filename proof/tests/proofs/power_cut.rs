//! Tests power cuts: at FULL no acknowledged fact is lost. The same trial finds losses at NORMAL,
//! and damage without syncs, so it can find them.

use madang_proof::{
    audit::Counter,
    power::{CutFigures, Synced, Trial},
};

async fn trial(seed: u64, cuts: usize, synced: Synced) -> CutFigures {
    Trial { seed, chats: 8, turns: 6, cuts, synced }.run(|_| ()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_takes_nothing_that_was_acknowledged() {
    let figures = trial(1, 64, Synced::Full).await;
    assert!(figures.findings.is_clean(), "{:#?}", figures.findings);
    assert!(figures.dropped > 500, "the cuts took hardly anything: {figures:?}");
    assert!(figures.acknowledged > 500 && figures.resumed > 0, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_commits_do_not_wait_for_the_disk_the_same_trial_finds_losses() {
    let findings = trial(1, 16, Synced::Normal).await.findings;
    assert!(findings.of(Counter::Lost).len() > 0);
    // A lost effect may happen again in the next life and count as doubled; the file itself stays
    // intact.
    assert_eq!(findings.of(Counter::Damaged).len(), 0, "{findings:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_waits_for_the_disk_the_same_trial_finds_damage() {
    let findings = trial(1, 24, Synced::Off).await.findings;
    assert!(findings.of(Counter::Damaged).len() > 0, "{findings:#?}");
}
