//! Runs the proofs for any length. `make soak` starts it; without arguments it prints its help.

#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::{
    collections::BTreeSet,
    error::Error,
    io::{Write as _, stdout},
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Parser, ValueEnum};
use madang_proof::{
    audit::{Counter, Findings},
    kill::{self, Campaign, KillFigures, Remote},
    mistakes::{AwayMistake, LateMistake, Mistake, ProxyMistake, RemoteMistake},
    power::{CutFigures, Synced, Trial},
    serve::{self, ServeCampaign, ServeFigures},
    simulation::{Away, AwayReport, Late, Simulation},
    stress::Stress,
};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

/// Runs a proof of Madang's promise for any length.
///
/// Everything is drawn from the seed, which is printed. Ends with 1 where a promise is broken, and
/// with 2 where a proof could not run. `docs/proof.md` says what each proof does and counts.
#[derive(Debug, Clone, Parser)]
#[command(name = "proof", arg_required_else_help = true)]
struct Dose {
    proof: Proof,
    /// How often `kill` (2000), `serve` (1000) or `remote` (1000) kills its process
    #[arg(long, value_name = "N")]
    kills: Option<u64>,
    /// The least keys under which turns begin in `serve`
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keys: u64,
    /// Clients of the server in `serve`
    #[arg(long, value_name = "N", default_value_t = 64)]
    clients: usize,
    /// Recordings of `power`, each cut at 200 moments
    #[arg(long, value_name = "N", default_value_t = 20)]
    trials: u64,
    /// Schedules of `simulation`, of `away` and of `late`
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Turns of `simulation`, of all its schedules together
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    turns: u64,
    /// Lines of the trace that `simulation` prints of a schedule that fails
    #[arg(long, value_name = "N", default_value_t = 40)]
    tail: usize,
    /// Runs of `stress`
    #[arg(long, value_name = "N", default_value_t = 10)]
    runs: u64,
    /// Chats of each run of `stress`, of 3 turns each
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    sessions: usize,
    /// The seed of everything; without it, the time
    #[arg(long, value_name = "N", default_value_t = now(), hide_default_value = true)]
    seed: u64,
    /// Makes the databases of `kill` and `stress` on this PostgreSQL server instead of files of SQLite
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// A planted mistake of `docs/proof.md`, which the proof should find
    #[arg(long, value_name = "NAME")]
    mistake: Option<String>,
}

/// A proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Proof {
    /// Kills a process with 8 chats, starts it again, and compares its oracle with its database
    Kill,
    /// Kills a server that clients submit to, read and answer, and compares what they heard with
    /// its database
    Serve,
    /// Kills a process whose chats call tools of a server that outlives it, and compares its ledger
    /// with the calls that the server received
    Remote,
    /// Records 8 chats on SQLite and cuts the power at many moments
    Power,
    /// Runs the runtime on one thread and a clock that jumps
    Simulation,
    /// Lets people stay away from their questions while the process dies 20 times
    Away,
    /// Loses the replies of a store that takes each write, and looks at it late
    Late,
    /// Runs many chats on one runtime with SQLite while much goes wrong
    Stress,
    /// Runs all of them, one after the other
    All,
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
    match &arguments[..] {
        [command, orders] if command == "child" => {
            kill::live(serde_json::from_str(orders)?).await?;
            return Ok(ExitCode::SUCCESS);
        }
        [command, orders] if command == "server" => {
            serve::serve(serde_json::from_str(orders)?).await?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let dose = Dose::parse();
    if let Some(name) = &dose.mistake
        && !dose.proof.can_plant(name)
    {
        return Err(format!(
            "this proof plants no mistake `{name}`; docs/proof.md names those of each"
        )
        .into());
    }
    println!("seed {}", dose.seed);
    let mut findings = Findings::default();
    let is_asked = |proof: &&Proof| [**proof, Proof::All].contains(&dose.proof);
    for proof in Proof::value_variants().iter().filter(is_asked) {
        findings.add(match proof {
            Proof::Kill => kill(&dose).await?,
            Proof::Serve => serve(&dose).await?,
            Proof::Remote => remote(&dose).await?,
            Proof::Power => power(&dose).await?,
            Proof::Simulation => {
                let dose = dose.clone();
                tokio::task::spawn_blocking(move || simulation(&dose)).await?
            }
            Proof::Away => {
                let dose = dose.clone();
                tokio::task::spawn_blocking(move || away(&dose)).await?
            }
            Proof::Late => {
                let dose = dose.clone();
                tokio::task::spawn_blocking(move || late(&dose)).await?
            }
            Proof::Stress => stress(&dose).await?,
            Proof::All => continue,
        });
    }
    Ok(if findings.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Proof {
    /// Tells whether the proof has a mistake of this name.
    fn can_plant(self, name: &str) -> bool {
        match self {
            Self::Serve => ProxyMistake::named(name).is_some(),
            Self::Away => AwayMistake::named(name).is_some(),
            Self::Late => LateMistake::named(name).is_some(),
            Self::Remote => Mistake::named(name).is_some() || RemoteMistake::named(name).is_some(),
            Self::Kill | Self::Simulation | Self::Stress => Mistake::named(name).is_some(),
            Self::Power | Self::All => false,
        }
    }
}

fn now() -> u64 {
    // A clock before 1970 gives a seed as well.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Dose {
    /// Finds the mistake among those of a driver.
    fn mistake<M>(&self, named: fn(&str) -> Option<M>) -> Option<M> {
        self.mistake.as_deref().and_then(named)
    }
}

/// The files on which processes are killed at the same time: a driver mostly waits.
const SIDE_BY_SIDE: u64 = 4;

async fn kill(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let (clock, all) = killed(dose, dose.kills.unwrap_or(2_000), None).await?;
    let KillFigures { kills, kills_at_points, files, acknowledged, .. } = all;
    Ok(clock.end(&format!(
        "kill   {kills} kills ({kills_at_points} at chosen points) on {files} files, {acknowledged} effects acknowledged",
    )))
}

async fn remote(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let remote = Remote { mistake: dose.mistake(RemoteMistake::named) };
    let (clock, all) = killed(dose, dose.kills.unwrap_or(1_000), Some(remote)).await?;
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
    let mut clock = Clock::new();
    let mut all = KillFigures::default();
    let (tell, mut told) = mpsc::unbounded_channel::<Findings>();
    let mut drivers = JoinSet::new();
    for number in 0..SIDE_BY_SIDE {
        let campaign = Campaign {
            program: std::env::current_exe()?,
            seed: dose.seed.wrapping_add(number),
            kills: kills / SIDE_BY_SIDE + u64::from(number < kills % SIDE_BY_SIDE),
            kills_a_file: 20,
            chats: 8,
            mistake: dose.mistake(Mistake::named),
            remote,
            postgres: if remote.is_some() { None } else { dose.postgres.clone() },
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
        kills: dose.kills.unwrap_or(1_000),
        kills_a_file: 25,
        keys: dose.keys,
        clients: dose.clients,
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
    let ServeFigures { ends_in_order, abroad, decisions, decisions_abroad, .. } = figures;
    let ServeFigures { probes, acknowledged, .. } = figures;
    Ok(clock.end(&format!(
        "serve  {kills} kills ({kills_at_points} at chosen points), {ends_in_order} ends in order, {files} files, {} clients: {keys} keys in {posts} requests, \
         {abroad} of them answered on other surfaces than ours, {heard} events heard, {resumed} streams resumed, {decisions} decisions, \
         {decisions_abroad} of them sent to other surfaces at the same instant, {probes} requests for what belongs to others, \
         {acknowledged} effects acknowledged",
        dose.clients,
    )))
}

async fn power(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let mut cuts = 0;
    let mut dropped = 0;
    let mut acknowledged = 0;
    for trial in 0..dose.trials {
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

/// Of this many seeds one runs twice, to check that it gives one schedule.
const RUN_AGAIN: u64 = 10;

fn simulation(dose: &Dose) -> Findings {
    let seeds = dose.seeds;
    let mut clock = Clock::new();
    let mut turns = 0;
    let mut deaths = 0;
    let mut handlers = 0;
    let mut lines = 0;
    for number in 0..seeds {
        let seed = dose.seed.wrapping_add(number);
        let turns_a_seed = dose.turns / seeds;
        let mistake = dose.mistake(Mistake::named);
        let run = Simulation { mistake, ..Simulation::new(seed, turns_a_seed) };
        let mut figures = run.run();
        if number % RUN_AGAIN == 0 && run.run().hash != figures.hash {
            figures.findings.find(Counter::Damaged, format!("seed {seed} is two schedules"));
        }
        if !figures.findings.is_clean() {
            let shrunk = if seeds > 1 { run.shrunk() } else { run };
            let tail = Simulation { tail: dose.tail, ..shrunk }.run().tail;
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

fn away(dose: &Dose) -> Findings {
    let mut clock = Clock::new();
    let mut deaths = 0;
    let mut answered = 0;
    for number in 0..dose.seeds {
        let seed = dose.seed.wrapping_add(number);
        let mistake = dose.mistake(AwayMistake::named);
        let report = Away { seed, chats: 6, deaths: 20, mistake }.run();
        let AwayReport { deaths: died, answered: ended, findings } = report;
        deaths += died;
        answered += ended;
        clock.found(findings);
        clock.say(|| format!("away {deaths} deaths"));
    }
    let seeds = dose.seeds;
    clock.end(&format!(
        "away  {seeds} seeds, {deaths} deaths, {answered} turns answered behind them"
    ))
}

fn late(dose: &Dose) -> Findings {
    let mut clock = Clock::new();
    let mut lost = 0;
    let mut late = 0;
    let mut answered = 0;
    for number in 0..dose.seeds {
        let seed = dose.seed.wrapping_add(number);
        let mistake = dose.mistake(LateMistake::named);
        let report = Late { seed, chats: 3, turns: 12, mistake }.run();
        lost += report.lost;
        late += report.late;
        answered += report.answered;
        clock.found(report.findings);
        clock.say(|| format!("late {lost} replies lost"));
    }
    let seeds = dose.seeds;
    clock.end(&format!(
        "late  {seeds} seeds, {lost} replies lost, {late} looks late, {answered} turns answered"
    ))
}

async fn stress(dose: &Dose) -> Result<Findings, Box<dyn Error>> {
    let mut clock = Clock::new();
    let mut turns = 0;
    let mut kills = 0;
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
            mistake: dose.mistake(Mistake::named),
        };
        let folder = tempfile::tempdir()?;
        let figures = match &dose.postgres {
            Some(server) => stress.in_database(server, |_| {}).await,
            None => stress.in_file(folder.path(), None, |_| {}).await,
        };
        let figures = figures.map_err(|cause| cause as Box<dyn Error>)?;
        turns += figures.turns.len();
        kills += figures.kills;
        clock.found(figures.findings);
        clock.say(|| format!("stress {turns} turns"));
    }
    Ok(clock.end(&format!(
        "stress {turns} turns of {} runs, shared actors killed {kills} times",
        dose.runs,
    )))
}

/// Prints progress from time to time, new findings at once, and the figures at the end.
struct Clock {
    begin: Instant,
    said: Instant,
    found: Findings,
}

impl Clock {
    const EVERY: Duration = Duration::from_secs(5);
    /// The findings of each kind that one report prints.
    const SHOWN: usize = 20;

    fn new() -> Self {
        let now = Instant::now();
        Self { begin: now, said: now, found: Findings::default() }
    }

    fn found(&mut self, findings: Findings) {
        for counter in Counter::ALL {
            let known = self.found.of(counter).collect::<BTreeSet<_>>();
            for what in findings.of(counter).filter(|what| !known.contains(what)).take(Self::SHOWN)
            {
                println!("{}: {what}", counter.name());
            }
        }
        self.found.add(findings);
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.said.elapsed() >= Self::EVERY {
            self.said = Instant::now();
            println!("{}, {}", text(), self.counts());
            let _ = stdout().flush(); // so that a reader of a pipe sees it
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
