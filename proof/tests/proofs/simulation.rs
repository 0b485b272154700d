//! Tests the simulation: one seed gives one schedule, no schedule breaks the promise, and mistakes
//! are found.

use std::{
    collections::BTreeSet,
    iter,
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use madang_proof::{
    audit::Counter,
    mistakes::{AwayMistake, LateMistake, Mistake, ProxyMistake, RemoteMistake},
    simulation::{Simulation, SimulationReport},
};

/// Fixed, because new seeds each day would be a flaky test; `make soak` uses others.
const SEEDS: std::ops::Range<u64> = 0..6;
/// The turns of each seed.
const TURNS: u64 = 60;

/// The seeds within which each mistake must show.
const MISTAKEN_SEEDS: u64 = 40;

/// Describes the seed, the findings, and the end of the trace.
fn report(run: &Simulation, figures: &SimulationReport) -> String {
    let shrunk = run.shrunk();
    let tail = Simulation { tail: 400, ..shrunk }.run().tail;
    format!("{run:?}, shrunk to {shrunk:?}: {:#?}\n{}", figures.findings, tail.join("\n"))
}

#[test]
fn no_schedule_breaks_the_promise() {
    let mut turns = 0;
    let mut deaths = 0;
    for seed in SEEDS {
        let run = Simulation::new(seed, TURNS);
        let figures = run.run();
        assert!(figures.findings.is_clean(), "{}", report(&run, &figures));
        turns += figures.turns;
        deaths += figures.deaths;
    }
    assert!(turns >= TURNS * (SEEDS.end - SEEDS.start), "{turns} turns");
    assert!(deaths > 5, "too little happened to prove anything: {deaths} deaths");
}

#[test]
fn one_seed_is_one_schedule() {
    let [one, again, other] = [1, 1, 2].map(|seed| Simulation::new(seed, TURNS).run());
    assert_eq!((one.hash, one.lines), (again.hash, again.lines));
    assert_ne!(one.hash, other.hash);
}

/// A mistake counts as found if it raises its own counters: another finding may have another cause.
#[test]
fn each_mistake_raises_its_counters() {
    let missed = |mistake: &Mistake| {
        let mut left: BTreeSet<_> = mistake.raises().iter().copied().collect();
        for seed in 0..MISTAKEN_SEEDS {
            let run = Simulation { mistake: Some(*mistake), ..Simulation::new(seed, 40) };
            let raised = run.run().findings.raised();
            left.retain(|counter| !raised.contains(counter));
            if left.is_empty() {
                return None;
            }
        }
        Some((mistake.name(), left))
    };
    // Each thread takes the next mistake: one takes as long as ten others.
    let next = AtomicUsize::new(0);
    let search = || {
        let mistakes = iter::from_fn(|| Mistake::ALL.get(next.fetch_add(1, Relaxed)));
        mistakes.filter_map(missed).collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let all_missed: Vec<_> = thread::scope(|scope| {
        let searches: Vec<_> = (0..threads).map(|_| scope.spawn(search)).collect();
        searches.into_iter().flat_map(|search| search.join().unwrap()).collect()
    });
    assert_eq!(all_missed, vec![]);
}

/// The rows of the table of mistakes: name, description, driver, counters.
fn table() -> Vec<[String; 4]> {
    let page = include_str!("../../../docs/proof.md");
    let (_, section) = page.split_once("## Planted mistakes").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = |row: &str| {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', ""));
        [(); 4].map(|()| cells.next().unwrap())
    };
    rows.map(cells).collect()
}

#[test]
fn the_page_names_each_mistake_and_the_drivers_that_find_it() {
    let of = |driver: &str| -> Vec<_> {
        let rows = table().into_iter().filter(|row| row[2].split(", ").any(|name| name == driver));
        rows.map(|[name, what, _, counters]| (name, what, counters)).collect()
    };
    let row = |name: &str, what: &str, raises: &[Counter]| {
        let counters = raises.iter().map(|counter| counter.name()).collect::<Vec<_>>();
        (name.to_owned(), what.to_owned(), counters.join(", "))
    };
    let simulated = Mistake::ALL.iter().map(|one| row(one.name(), one.what(), one.raises()));
    assert_eq!(of("simulation"), simulated.collect::<Vec<_>>());
    let served = ProxyMistake::ALL.iter().map(|one| row(one.name(), one.what(), one.raises()));
    assert_eq!(of("serve"), served.collect::<Vec<_>>());
    let away = AwayMistake::ALL.iter().map(|one| row(one.name(), one.what(), one.raises()));
    assert_eq!(of("away"), away.collect::<Vec<_>>());
    let late = LateMistake::ALL.iter().map(|one| row(one.name(), one.what(), one.raises()));
    assert_eq!(of("late"), late.collect::<Vec<_>>());
    let names = |driver| of(driver).into_iter().map(|(name, ..)| name).collect::<BTreeSet<_>>();
    let named = |found: &[(Mistake, Counter)]| {
        found.iter().map(|(mistake, _)| mistake.name().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("kill"), named(&super::kill::FOUND));
    let remote = RemoteMistake::ALL.iter().map(|mistake| mistake.name().to_owned());
    assert_eq!(names("remote"), &named(&super::remote::FOUND) | &remote.collect());
    let described = RemoteMistake::ALL.iter().map(|one| row(one.name(), one.what(), one.raises()));
    assert!(described.into_iter().all(|row| of("remote").contains(&row)));
    assert_eq!(names("stress"), named(&super::stress::FOUND));
    let disks = ["synchronous=normal", "synchronous=off"].map(str::to_owned);
    assert_eq!(names("power cut"), disks.into());
    let planted = include_str!("../failpoints/main.rs");
    let bugs = planted.lines().filter_map(|line| {
        let (bug, _) = line.strip_prefix("        (\"")?.split_once("\", \"")?;
        Some(bug.to_owned())
    });
    assert_eq!(names("failpoints"), bugs.collect::<BTreeSet<_>>());
    assert!(table().len() >= 25);
}
