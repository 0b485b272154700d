//! Runs the proofs for any length. `make soak` starts it; without arguments it prints its usage.

#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::{
    collections::BTreeMap,
    error::Error,
    io::{Write as _, stdout},
    num::TryFromIntError,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use madang_proof::{
    audit::{Counter, Findings},
    fuzz::{Hunt, Target},
    kill::{self, Campaign, KillFigures, Remote},
    mistakes::{Mistake, ProxyMistake, RemoteMistake},
    power::{CutFigures, Synced, Trial},
    serve::{self, ServeCampaign, ServeFigures},
    simulation::Simulation,
    stress::Stress,
};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

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

/// What each proof does where the command line does not say otherwise. Each driver that kills has a number of its own.
const DEFAULTS: [(&str, u64); 9] = [
    ("--keys", 10_000),
    ("--clients", 64),
    ("--trials", 20),
    ("--seconds", 60),
    ("--seeds", 200),
    ("--turns", 100_000),
    ("--runs", 10),
    ("--sessions", 10_000),
    ("--tail", 40),
];

/// The amount of each proof.
#[derive(Debug, Clone)]
struct Dose {
    amounts: BTreeMap<String, u64>,
    seed: u64,
    /// The name of a mistake.
    mistake: Option<String>,
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
    if let ("child" | "server", [orders]) = (command.as_str(), rest) {
        if command == "child" {
            kill::live(serde_json::from_str(orders)?).await?;
        } else {
            serve::serve(serde_json::from_str(orders)?).await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let dose = Dose::read(rest)?;
    println!("seed {}", dose.seed);
    let all = ["kill", "serve", "remote", "power", "fuzz", "simulation", "stress"];
    let mut findings = Findings::default();
    for proof in all.into_iter().filter(|proof| command == "all" || command == proof) {
        findings.add(match proof {
            "kill" => kill(&dose).await?,
            "serve" => serve(&dose).await?,
            "remote" => remote(&dose).await?,
            "power" => power(&dose).await?,
            "fuzz" => fuzz(&dose).await?,
            "simulation" => {
                let dose = dose.clone();
                tokio::task::spawn_blocking(move || simulation(&dose)).await?
            }
            _ => stress(&dose).await?,
        });
    }
    if command != "all" && !all.contains(&command.as_str()) {
        return Err(USAGE.into());
    }
    Ok(if findings.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Dose {
    fn read(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let amounts = DEFAULTS.map(|(name, amount)| (name.to_owned(), amount)).into();
        let mut dose = Self { amounts, seed, mistake: None };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.into()) };
            if name == "--mistake" {
                let is_known = Mistake::named(value).is_some()
                    || ProxyMistake::named(value).is_some()
                    || RemoteMistake::named(value).is_some();
                if !is_known {
                    return Err("no mistake has this name".into());
                }
                dose.mistake = Some(value.clone());
                continue;
            }
            let value = value.parse()?;
            if name == "--seed" {
                dose.seed = value;
            } else if name == "--kills" || dose.amounts.contains_key(name) {
                dose.amounts.insert(name.clone(), value);
            } else {
                return Err(USAGE.into());
            }
        }
        Ok(dose)
    }

    fn of(&self, name: &str) -> u64 {
        self.amounts[name]
    }

    fn size(&self, name: &str) -> Result<usize, TryFromIntError> {
        self.of(name).try_into()
    }

    fn kills(&self, otherwise: u64) -> u64 {
        self.amounts.get("--kills").copied().unwrap_or(otherwise)
    }

    /// Finds the mistake among those of a driver.
    fn mistake<M>(&self, named: fn(&str) -> Option<M>) -> Option<M> {
        self.mistake.as_deref().and_then(named)
    }
}

/// The files on which processes are killed at the same time: a driver mostly waits.
const SIDE_BY_SIDE: u64 = 4;

async fn kill(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let (clock, all) = killed(dose, dose.kills(2_000), None).await?;
    let KillFigures { kills, kills_at_points, files, acknowledged, .. } = all;
    Ok(clock.end(&format!(
        "kill   {kills} kills ({kills_at_points} at chosen points) on {files} files, {acknowledged} effects acknowledged",
    )))
}

async fn remote(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let remote = Remote { mistake: dose.mistake(RemoteMistake::named) };
    let (clock, all) = killed(dose, dose.kills(1_000), Some(remote)).await?;
    let KillFigures { kills, kills_in_calls, files, received, unknown, acknowledged, .. } = all;
    Ok(clock.end(&format!(
        "remote {kills} kills ({kills_in_calls} at calls) on {files} files, {received} calls received, {acknowledged} effects \
         acknowledged, {unknown} unknown and resolved",
    )))
}

/// Divides kills among some files.
async fn killed(
    dose: &Dose,
    kills: u64,
    remote: Option<Remote>,
) -> Result<(Clock, KillFigures), Box<dyn Error>> {
    let name = if remote.is_some() { "remote" } else { "kill  " };
    let (mut clock, mut all) = (Clock::new(), KillFigures::default());
    let (tell, mut told) = mpsc::unbounded_channel::<Findings>();
    let mut drivers = JoinSet::new();
    for number in 0..SIDE_BY_SIDE {
        let campaign = Campaign {
            program: std::env::current_exe()?,
            seed: dose.seed.wrapping_add(number),
            kills: kills / SIDE_BY_SIDE + u64::from(number < kills % SIDE_BY_SIDE),
            kills_a_file: 20,
            chats: 8,
            mistake: dose.mistake(Mistake::named).filter(|_| remote.is_some()),
            remote,
        };
        let tell = tell.clone();
        drivers.spawn(async move {
            campaign.run(|figures| drop(tell.send(figures.findings.clone()))).await
        });
    }
    drop(tell);
    let mut so_far = 0;
    while let Some(findings) = told.recv().await {
        so_far += 1;
        clock.found(findings);
        clock.say(|| format!("{name} {so_far} of {kills} kills"));
    }
    for figures in drivers.join_all().await {
        clock.found(figures.findings.clone());
        all.add(figures);
    }
    Ok((clock, all))
}

/// Longer than a turn takes, with all the kills that befall it.
const PATIENCE: Duration = Duration::from_secs(60);

async fn serve(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let campaign = ServeCampaign {
        program: std::env::current_exe()?,
        seed: dose.seed,
        kills: dose.kills(1_000),
        kills_a_file: 25,
        keys: dose.of("--keys"),
        clients: dose.size("--clients")?,
        mistake: dose.mistake(ProxyMistake::named),
        patience: PATIENCE,
    };
    let kills = campaign.kills;
    let figures = campaign.run(|ServeFigures { kills: so_far, keys, findings, .. }| {
        clock.found(findings.clone());
        clock.say(|| format!("serve  {so_far} of {kills} kills, {keys} keys"));
    });
    let figures = figures.await;
    let ServeFigures { kills, kills_at_points, files, keys, posts, resumed, heard, .. } = figures;
    let ServeFigures { ends_in_order, decisions, probes, acknowledged, .. } = figures;
    Ok(clock.end(&format!(
        "serve  {kills} kills ({kills_at_points} at chosen points), {ends_in_order} ends in order, {files} files, {} clients: {keys} keys in {posts} requests, \
         {heard} events heard, {resumed} streams resumed, {decisions} decisions, {probes} foreign requests, \
         {acknowledged} effects acknowledged",
        dose.of("--clients"),
    )))
}

async fn power(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let (mut cuts, mut dropped, mut acknowledged) = (0, 0, 0);
    for trial in 0..dose.of("--trials") {
        let seed = dose.seed.wrapping_add(trial);
        let trial = Trial { seed, chats: 8, turns: 10, cuts: 200, synced: Synced::Full };
        let tell = |figures: &CutFigures| {
            clock.found(figures.findings.clone());
            clock.say(|| format!("power  {} cuts", cuts + figures.cuts));
        };
        let figures = trial.run(tell).await;
        cuts += figures.cuts;
        dropped += figures.dropped;
        acknowledged += figures.acknowledged;
    }
    Ok(clock.end(&format!(
        "power  {cuts} cuts, {dropped} changes dropped, {acknowledged} acknowledged effects looked for",
    )))
}

async fn fuzz(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    for target in Target::ALL {
        let time = Duration::from_secs(dose.of("--seconds"));
        println!("fuzz   {} for {} s", target.name(), time.as_secs());
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

fn simulation(dose: &Dose) -> Findings {
    let seeds = dose.of("--seeds");
    let mut clock = Clock::new();
    let (mut turns, mut deaths, mut handlers, mut lines) = (0, 0, 0, 0);
    let tail = usize::try_from(dose.of("--tail")).unwrap_or(usize::MAX);
    for number in 0..seeds {
        let seed = dose.seed.wrapping_add(number);
        let turns_a_seed = dose.of("--turns") / seeds;
        let mistake = dose.mistake(Mistake::named);
        let run = Simulation { mistake, ..Simulation::new(seed, turns_a_seed) };
        let mut figures = run.run();
        if number % RUN_AGAIN == 0 && run.run().hash != figures.hash {
            figures.findings.find(Counter::Damaged, format!("seed {seed} is two schedules"));
        }
        if !figures.findings.is_clean() {
            let shrunk = if seeds > 1 { run.shrunk() } else { run };
            let tail = Simulation { tail, ..shrunk }.run().tail;
            println!("{}", tail.join("\n"));
            println!("simulation: {run:?} fails, and so does {shrunk:?}");
        }
        turns += figures.turns;
        deaths += figures.deaths;
        handlers += figures.handlers;
        lines += figures.lines;
        clock.found(figures.findings);
        clock.say(|| format!("simulation {turns} turns"));
    }
    clock.end(&format!(
        "simulation  {turns} turns of {seeds} seeds, {deaths} deaths, {handlers} handlers, {lines} steps",
    ))
}

async fn stress(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let (mut turns, mut kills) = (0, 0);
    for number in 0..dose.of("--runs") {
        let seed = dose.seed.wrapping_add(number);
        let stress = Stress {
            sessions: dose.size("--sessions")?,
            turns: 3,
            tools: 2,
            chaos: 5,
            dismiss: 5,
            seed,
            in_flight: 256,
            mistake: dose.mistake(Mistake::named),
        };
        let folder = tempfile::tempdir()?;
        let figures = stress
            .in_file(folder.path(), None, |_| {})
            .await
            .map_err(|cause| cause as Box<dyn Error>)?;
        turns += figures.turns.len();
        kills += figures.kills;
        clock.found(figures.findings);
        clock.say(|| format!("stress {turns} turns"));
    }
    Ok(clock.end(&format!(
        "stress {turns} turns of {} runs, shared actors killed {kills} times",
        dose.of("--runs"),
    )))
}

/// Prints progress from time to time, the first findings of each kind at once, and the figures at the end.
struct Clock {
    begin: Instant,
    said: Instant,
    found: Findings,
}

impl Clock {
    const EVERY: Duration = Duration::from_secs(5);
    const SHOWN: usize = 20;

    fn new() -> Self {
        let now = Instant::now();
        Self { begin: now, said: now, found: Findings::default() }
    }

    fn found(&mut self, findings: Findings) {
        for counter in Counter::ALL {
            for what in findings.of(counter).take(Self::SHOWN) {
                if !self.found.of(counter).any(|known| known == what) {
                    println!("{}: {what}", counter.name());
                }
            }
        }
        self.found.add(findings);
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.said.elapsed() >= Self::EVERY {
            self.said = Instant::now();
            println!("{}, {}", text(), self.counts());
            drop(stdout().flush()); // so that a reader of a pipe sees it
        }
    }

    fn end(self, text: &str) -> Findings {
        println!("{text}: {}", self.counts());
        self.found
    }

    fn counts(&self) -> String {
        let count =
            |counter: Counter| format!("{} {}", self.found.of(counter).len(), counter.name());
        format!("{} ({} s)", Counter::ALL.map(count).join(", "), self.begin.elapsed().as_secs())
    }
}
