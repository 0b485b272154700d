//! Tests serve: a server that is killed under its clients loses nothing, repeats nothing and begins
//! nothing twice.

use std::time::Duration;

use madang_proof::{
    mistakes::ProxyMistake,
    serve::{ServeCampaign, ServeFigures},
};
use tokio::task::JoinSet;

/// Fixed, because a new seed each day would be a flaky test; `make soak` uses others.
const SEED: u64 = 1;

fn campaign(seed: u64, kills: u64, keys: u64) -> ServeCampaign {
    ServeCampaign {
        program: env!("CARGO_BIN_EXE_proof").into(),
        seed,
        kills,
        kills_a_file: 10,
        keys,
        clients: 8,
        mistake: None,
        patience: Duration::from_secs(30),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_loses_repeats_and_doubles_nothing() {
    let figures = campaign(SEED, 10, 50).run(|_| ()).await;
    assert!(figures.findings.is_clean(), "seed {SEED}: {:#?}", figures.findings);
    let ServeFigures { kills, kills_at_points, keys, posts, resumed, acknowledged, .. } = figures;
    assert!(kills >= 10 && kills_at_points > 0, "some died at points of their choice: {figures:?}");
    assert!(keys >= 50 && posts > keys && resumed > 50 && acknowledged > 50, "{figures:?}");
    assert!(figures.decisions > 0 && figures.probes > 0, "{figures:?}");
    assert!(figures.abroad > 0 && figures.decisions_abroad > 0, "on each surface: {figures:?}");
}

/// A mistake counts as found if it raises its own counters: another finding may have another cause.
async fn misses(mistake: ProxyMistake) -> Option<(&'static str, ServeFigures)> {
    let mut figures = ServeFigures::default();
    for seed in 0..6 {
        // Clients that hear nothing more are left soon.
        let patience = Duration::from_secs(1);
        let campaign =
            ServeCampaign { mistake: Some(mistake), patience, clients: 6, ..campaign(seed, 2, 12) };
        figures = campaign.run(|_| ()).await;
        let raised = figures.findings.raised();
        if mistake.raises().iter().all(|counter| raised.contains(counter)) {
            return None;
        }
    }
    Some((mistake.name(), figures))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_of_a_server_is_found() {
    let mistakes = ProxyMistake::ALL.iter().map(|mistake| misses(*mistake));
    let missed: Vec<_> = mistakes.collect::<JoinSet<_>>().join_all().await;
    let missed: Vec<_> = missed.into_iter().flatten().collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
