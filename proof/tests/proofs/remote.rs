//! Tests kill -9 around remote tools: no write is sent twice, and each uncertain one is unknown and
//! can be resolved.

use madang_proof::{
    audit::Counter,
    kill::{Campaign, KillFigures, Remote},
    mistakes::{Mistake, RemoteMistake},
};
use tokio::task::JoinSet;

/// Fixed, because a new seed each day would be a flaky test; `make soak` uses others.
const SEED: u64 = 1;

fn campaign(seed: u64, kills: u64) -> Campaign {
    Campaign {
        program: env!("CARGO_BIN_EXE_proof").into(),
        seed,
        kills,
        kills_a_file: 10,
        chats: 8,
        mistake: None,
        remote: Some(Remote::default()),
        postgres: None,
    }
}

async fn killed(seed: u64) -> KillFigures {
    let figures = campaign(seed, 10).run(|_| ()).await;
    assert!(figures.findings.is_clean(), "seed {seed}: {:#?}", figures.findings);
    assert_eq!(figures.kills, 10);
    figures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_repeats_no_remote_write_and_tells_what_it_does_not_know() {
    let (mut all, other) = tokio::join!(killed(SEED), killed(SEED + 1));
    all.add(other);
    let KillFigures { kills_in_calls, received, unknown, acknowledged, .. } = all;
    let enough = kills_in_calls > 0 && received > 50 && unknown > 10 && acknowledged > 20;
    assert!(enough, "too little happened to prove anything: {all:?}");
}

/// The mistakes of stores and tools that are found here as well, and their counters.
pub(crate) const FOUND: [(Mistake, Counter); 4] = [
    (Mistake::StoreCallsUnknownNone, Counter::Misreported),
    (Mistake::ToolActsTwice, Counter::Doubled),
    (Mistake::ToolDoesNothing, Counter::Lost),
    (Mistake::ToolCallsItselfHarmless, Counter::Unasked),
];

/// A mistake counts as found if it raises its own counter: another finding may have another cause.
async fn misses(
    mistake: Option<Mistake>,
    remote_mistake: Option<RemoteMistake>,
    counter: Counter,
) -> Option<KillFigures> {
    let mut figures = KillFigures::default();
    for seed in 0..6 {
        let campaign = Campaign {
            mistake,
            remote: Some(Remote { mistake: remote_mistake }),
            ..campaign(seed, 4)
        };
        figures = campaign.run(|_| ()).await;
        if figures.findings.of(counter).len() > 0 {
            return None;
        }
    }
    Some(figures)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_around_a_remote_tool_is_found() {
    let mut runs = JoinSet::new();
    for (mistake, counter) in FOUND {
        runs.spawn(async move { (mistake.name(), misses(Some(mistake), None, counter).await) });
    }
    for mistake in RemoteMistake::ALL {
        let counter = mistake.raises()[0];
        runs.spawn(async move { (mistake.name(), misses(None, Some(mistake), counter).await) });
    }
    let missed: Vec<_> =
        runs.join_all().await.into_iter().filter(|(_, missed)| missed.is_some()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
