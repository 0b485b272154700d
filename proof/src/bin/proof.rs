//! Runs the proofs for any length. `make soak` starts it; without arguments it prints its usage.

#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::{
    collections::BTreeSet,
    error::Error,
    io::{Write as _, stdout},
    process::ExitCode,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use madang_proof::{
    audit::{Counter, Findings},
    fuzz::{Hunt, Target},
    kill::{self, Campaign},
    mistakes::{Mistake, ProxyMistake, RemoteMistake},
    power::{Synced, Trial},
    remote::{self, RemoteCampaign, RemoteFigures},
    serve::{self, ServeCampaign, ServeFigures},
    simulation::Simulation,
    stress::Stress,
};
use tokio::{task::JoinSet, time::Instant};

const USAGE: &str = "usage: proof kill|serve|remote|power|fuzz|simulation|stress|all [--kills N] [--keys N] [--clients N] [--trials N]
             [--seconds N] [--seeds N] [--turns N] [--runs N] [--sessions N] [--seed N]

  kill    kills a process with 8 chats, starts it again, compares its oracle with its database: --kills times (2000)
  serve   kills a server that --clients (64) submit to, read and answer, and compares what they heard with its database:
          --kills times (1000), and until turns began under --keys keys (10000);
          with --mistake NAME, one of docs/proof.md, which it should find
  remote  kills a process whose chats call tools of a server that outlives it, and compares its ledger with the calls that
          the server received: --kills times (1000); with --mistake NAME, one of docs/proof.md, which it should find
  power   records 8 chats on SQLite and cuts the power at 200 moments: --trials times (20)
  fuzz    sends mutations of fuzz/corpus through dispatch, parser and envelope: --seconds each (60)
  simulation
          runs the runtime on one thread and a clock that jumps: --turns (100000) of --seeds schedules (200);
          with --mistake NAME, one of docs/proof.md, which it should find; --tail N lines of the trace (40)
  stress  runs many chats on one runtime with SQLite while much goes wrong: --runs (10) of --sessions (10000), 3 turns each
  all     one after the other

Everything is drawn from the seed, which is printed; without --seed it is the time. Ends with 1 where a promise is broken.";

/// The amount of each proof.
#[derive(Debug, Clone, Copy)]
struct Dose {
    /// Of each driver that kills; each has its own number by default.
    kills: Option<u64>,
    keys: u64,
    clients: usize,
    trials: u64,
    seconds: u64,
    seeds: u64,
    turns: u64,
    runs: u64,
    sessions: usize,
    mistake: Option<Mistake>,
    proxy_mistake: Option<ProxyMistake>,
    remote_mistake: Option<RemoteMistake>,
    tail: usize,
    seed: u64,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    run().await.unwrap_or_else(|cause| {
        println!("{cause}");
        ExitCode::from(2)
    })
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    if let ("child" | "server" | "remote-child", [orders]) = (command.as_str(), rest) {
        match command.as_str() {
            "child" => kill::live(serde_json::from_str(orders)?).await?,
            "server" => serve::serve(serde_json::from_str(orders)?).await?,
            _ => remote::live(serde_json::from_str(orders)?).await?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let dose = Dose::read(rest)?;
    println!("seed {}", dose.seed);
    let findings = match command.as_str() {
        "kill" => kill(dose).await?,
        "serve" => serve(dose).await?,
        "remote" => remote(dose).await?,
        "power" => power(dose).await,
        "fuzz" => fuzz(dose).await?,
        "simulation" => tokio::task::spawn_blocking(move || simulation(dose)).await?,
        "stress" => stress(dose).await?,
        "all" => {
            let mut findings = kill(dose).await?;
            findings.add(serve(dose).await?);
            findings.add(remote(dose).await?);
            findings.add(power(dose).await);
            findings.add(fuzz(dose).await?);
            findings.add(tokio::task::spawn_blocking(move || simulation(dose)).await?);
            findings.add(stress(dose).await?);
            findings
        }
        _ => return Err(USAGE.into()),
    };
    Ok(if findings.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Dose {
    fn read(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let mut dose = Self {
            kills: None,
            keys: 10_000,
            clients: 64,
            trials: 20,
            seconds: 60,
            seeds: 200,
            turns: 100_000,
            runs: 10,
            sessions: 10_000,
            mistake: None,
            proxy_mistake: None,
            remote_mistake: None,
            tail: 40,
            seed: now.as_secs(),
        };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.into()) };
            if name == "--mistake" {
                (dose.mistake, dose.proxy_mistake) =
                    (Mistake::named(value), ProxyMistake::named(value));
                dose.remote_mistake = RemoteMistake::named(value);
                let is_known = dose.mistake.is_some()
                    || dose.proxy_mistake.is_some()
                    || dose.remote_mistake.is_some();
                if !is_known {
                    return Err("no mistake has this name".into());
                }
                continue;
            }
            let value = value.parse()?;
            match name.as_str() {
                "--seeds" => dose.seeds = value,
                "--turns" => dose.turns = value,
                "--runs" => dose.runs = value,
                "--sessions" => dose.sessions = usize::try_from(value)?,
                "--tail" => dose.tail = usize::try_from(value)?,
                "--kills" => dose.kills = Some(value),
                "--keys" => dose.keys = value,
                "--clients" => dose.clients = usize::try_from(value)?,
                "--trials" => dose.trials = value,
                "--seconds" => dose.seconds = value,
                "--seed" => dose.seed = value,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(dose)
    }
}

/// The files on which processes are killed at the same time: a driver mostly waits.
const SIDE_BY_SIDE: u64 = 4;

async fn kill(dose: Dose) -> Result<Findings, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let kills = dose.kills.unwrap_or(2_000);
    let shared = Arc::new(Mutex::new((Clock::new(), vec![])));
    let mut drivers = JoinSet::new();
    for number in 0..SIDE_BY_SIDE {
        let campaign = Campaign {
            program: program.clone(),
            seed: dose.seed.wrapping_add(number),
            kills: kills / SIDE_BY_SIDE + u64::from(number < kills % SIDE_BY_SIDE),
            kills_a_file: 20,
            chats: 8,
            mistake: None,
        };
        let shared = shared.clone();
        let index = usize::try_from(number)?;
        drivers.spawn(async move {
            let tell = |figures: &kill::KillFigures| {
                let (clock, all) = &mut *shared.lock().expect("no code under this lock panics");
                all.resize(all.len().max(index + 1), kill::KillFigures::default());
                all[index] = figures.clone();
                clock.found(&figures.findings);
                clock.say(|| {
                    let all = sum(all);
                    format!("kill   {} of {kills} kills, {}", all.kills, counts(&all.findings))
                });
            };
            campaign.run(tell).await
        });
    }
    let mut all = Vec::new();
    while let Some(figures) = drivers.join_next().await {
        all.push(figures?);
    }
    let all = sum(&all);
    let (clock, _) = &mut *shared.lock().expect("no code under this lock panics");
    clock.found(&all.findings);
    let (at_points, files) = (all.kills_at_points, all.files);
    clock.end(&format!(
        "kill   {} kills ({at_points} at chosen points) on {files} files, {} effects acknowledged: {}",
        all.kills,
        all.acknowledged,
        counts(&all.findings),
    ));
    Ok(all.findings.clone())
}

fn sum(all: &[kill::KillFigures]) -> kill::KillFigures {
    let mut sum = kill::KillFigures::default();
    all.iter().cloned().for_each(|figures| sum.add(figures));
    sum
}

/// Longer than a turn takes, with all the kills that befall it.
const PATIENCE: Duration = Duration::from_secs(60);

async fn serve(dose: Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let campaign = ServeCampaign {
        program: std::env::current_exe()?,
        seed: dose.seed,
        kills: dose.kills.unwrap_or(1_000),
        kills_a_file: 25,
        keys: dose.keys,
        clients: dose.clients,
        mistake: dose.proxy_mistake,
        patience: PATIENCE,
    };
    let kills = campaign.kills;
    let figures = campaign.run(|figures| {
        clock.found(&figures.findings);
        clock.say(|| {
            let ServeFigures { kills: so_far, keys, .. } = figures;
            format!("serve  {so_far} of {kills} kills, {keys} keys, {}", counts(&figures.findings))
        });
    });
    let figures = figures.await;
    let ServeFigures { kills, kills_at_points, files, keys, posts, resumed, heard, .. } = figures;
    let ServeFigures { ends_in_order, decisions, probes, acknowledged, .. } = figures;
    clock.end(&format!(
        "serve  {kills} kills ({kills_at_points} at chosen points), {ends_in_order} ends in order, {files} files, {} clients: {keys} keys in {posts} requests, \
         {heard} events heard, {resumed} streams resumed, {decisions} decisions, {probes} foreign requests, \
         {acknowledged} effects acknowledged: {}",
        dose.clients,
        counts(&figures.findings),
    ));
    Ok(figures.findings)
}

async fn remote(dose: Dose) -> Result<Findings, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let kills = dose.kills.unwrap_or(1_000);
    let shared = Arc::new(Mutex::new(Clock::new()));
    let clock = || shared.lock().expect("no code under this lock panics");
    let mut drivers = JoinSet::new();
    for number in 0..SIDE_BY_SIDE {
        let campaign = RemoteCampaign {
            program: program.clone(),
            seed: dose.seed.wrapping_add(number),
            kills: kills / SIDE_BY_SIDE + u64::from(number < kills % SIDE_BY_SIDE),
            kills_a_file: 20,
            chats: 8,
            mistake: dose.mistake,
            remote_mistake: dose.remote_mistake,
        };
        let shared = shared.clone();
        drivers.spawn(async move {
            let tell = |figures: &RemoteFigures| {
                let mut clock = shared.lock().expect("no code under this lock panics");
                clock.found(&figures.findings);
                clock.say(|| {
                    let (so_far, kills) = (figures.kills, campaign.kills);
                    format!("remote {so_far} of {kills} kills, {}", counts(&figures.findings))
                });
            };
            campaign.run(tell).await
        });
    }
    let mut all = RemoteFigures::default();
    while let Some(figures) = drivers.join_next().await {
        all.add(figures?);
    }
    clock().found(&all.findings);
    let RemoteFigures { kills, kills_in_calls, files, received, unknown, acknowledged, .. } = all;
    clock().end(&format!(
        "remote {kills} kills ({kills_in_calls} at calls) on {files} files, {received} calls received, {acknowledged} effects \
         acknowledged, {unknown} unknown and resolved: {}",
        counts(&all.findings),
    ));
    Ok(all.findings)
}

async fn power(dose: Dose) -> Findings {
    let (mut clock, mut findings) = (Clock::new(), Findings::default());
    let (mut cuts, mut dropped, mut acknowledged) = (0, 0, 0);
    for trial in 0..dose.trials {
        let seed = dose.seed.wrapping_add(trial);
        let trial = Trial { seed, chats: 8, turns: 10, cuts: 200, synced: Synced::Full };
        let figures = trial
            .run(|figures| {
                clock.found(&figures.findings);
                clock.say(|| {
                    format!("power  {} cuts, {}", cuts + figures.cuts, counts(&figures.findings))
                });
            })
            .await;
        cuts += figures.cuts;
        dropped += figures.dropped;
        acknowledged += figures.acknowledged;
        findings.add(figures.findings);
    }
    let lost = format!("{dropped} changes dropped");
    clock.end(&format!(
        "power  {cuts} cuts, {lost}, {acknowledged} acknowledged effects looked for: {}",
        counts(&findings),
    ));
    findings
}

async fn fuzz(dose: Dose) -> Result<Findings, Box<dyn Error>> {
    for target in Target::ALL {
        println!("fuzz   {} for {} s", target.name(), dose.seconds);
        let time = Duration::from_secs(dose.seconds);
        let hunt = Hunt { target, seed: dose.seed, executions: u64::MAX, time };
        // The target runs a tokio runtime of its own, which cannot start inside of this one.
        let ended = tokio::task::spawn_blocking(move || hunt.run()).await??;
        let (name, seconds) = (target.name(), ended.took.as_secs());
        println!("fuzz   {name}: {} inputs, {} ways, {seconds} s", ended.executions, ended.ways);
    }
    Ok(Findings::default())
}

/// Of this many seeds one runs twice, to check that it gives one schedule.
const RUN_AGAIN: u64 = 10;

fn simulation(dose: Dose) -> Findings {
    let (mut clock, mut findings) = (Clock::new(), Findings::default());
    let (mut turns, mut deaths, mut handlers, mut lines) = (0, 0, 0, 0);
    for number in 0..dose.seeds {
        let seed = dose.seed.wrapping_add(number);
        let run =
            Simulation { mistake: dose.mistake, ..Simulation::new(seed, dose.turns / dose.seeds) };
        let mut figures = run.run();
        if number % RUN_AGAIN == 0 && run.run().hash != figures.hash {
            figures.findings.find(Counter::Damaged, format!("seed {seed} is two schedules"));
        }
        if !figures.findings.is_clean() {
            let shrunk = if dose.seeds > 1 { run.shrunk() } else { run };
            let tail = Simulation { tail: dose.tail, ..shrunk }.run().tail;
            println!("{}", tail.join("\n"));
            println!("simulation: {run:?} fails, and so does {shrunk:?}");
        }
        turns += figures.turns;
        deaths += figures.deaths;
        handlers += figures.handlers;
        lines += figures.lines;
        clock.found(&figures.findings);
        findings.add(figures.findings);
        clock.say(|| format!("simulation {turns} turns, {}", counts(&findings)));
    }
    clock.end(&format!(
        "simulation  {turns} turns of {} seeds, {deaths} deaths, {handlers} handlers, {lines} steps: {}",
        dose.seeds,
        counts(&findings),
    ));
    findings
}

async fn stress(dose: Dose) -> Result<Findings, Box<dyn Error>> {
    let (mut clock, mut findings) = (Clock::new(), Findings::default());
    let (mut turns, mut kills) = (0, 0);
    for number in 0..dose.runs {
        let seed = dose.seed.wrapping_add(number);
        let stress = Stress {
            sessions: dose.sessions,
            turns: 3,
            tools: 2,
            chaos: 5,
            dismiss: 5,
            seed,
            in_flight: 256,
            mistake: dose.mistake,
        };
        let folder = tempfile::tempdir()?;
        let figures = stress
            .in_file(folder.path(), None, |_| {})
            .await
            .map_err(|cause| cause as Box<dyn Error>)?;
        turns += figures.turns.len();
        kills += figures.kills;
        clock.found(&figures.findings);
        findings.add(figures.findings);
        clock.say(|| format!("stress {turns} turns, {}", counts(&findings)));
    }
    clock.end(&format!(
        "stress {turns} turns of {} runs, shared actors killed {kills} times: {}",
        dose.runs,
        counts(&findings),
    ));
    Ok(findings)
}

fn counts(findings: &Findings) -> String {
    let count = |counter: Counter| format!("{} {}", findings.of(counter).len(), counter.name());
    Counter::ALL.map(count).join(", ")
}

/// Returns the first findings of each kind.
fn sentences(findings: &Findings) -> Vec<String> {
    const SHOWN: usize = 20;
    let shown = |counter: Counter| {
        let all = findings.of(counter).take(SHOWN);
        all.map(move |what| format!("{}: {what}", counter.name()))
    };
    Counter::ALL.into_iter().flat_map(shown).collect()
}

/// Prints progress from time to time, and findings at once.
struct Clock {
    begin: Instant,
    said: Instant,
    found: BTreeSet<String>,
}

impl Clock {
    const EVERY: Duration = Duration::from_secs(5);

    fn new() -> Self {
        let now = Instant::now();
        Self { begin: now, said: now, found: BTreeSet::new() }
    }

    fn found(&mut self, findings: &Findings) {
        for sentence in sentences(findings) {
            if self.found.insert(sentence.clone()) {
                println!("{sentence}");
            }
        }
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.said.elapsed() >= Self::EVERY {
            self.said = Instant::now();
            println!("{} ({} s)", text(), self.begin.elapsed().as_secs());
            drop(stdout().flush()); // so that a reader of a pipe sees it
        }
    }

    fn end(&self, text: &str) {
        println!("{text} ({} s)", self.begin.elapsed().as_secs());
    }
}
