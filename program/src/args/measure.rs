//! Options of the commands that prove and score: stress and eval.

use std::path::PathBuf;

use clap::{Args as Options, ValueEnum, value_parser};
use madang_proof::mistakes::Mistake;

use super::shared::{EngineHost, ModelChoice, Toolkit, Toolkits};

#[derive(Debug, Options)]
pub(crate) struct Stress {
    /// Chats at once.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = at_least_one)]
    pub(crate) sessions: usize,
    /// Turns of each chat.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
    pub(crate) turns: usize,
    /// Calls in each turn, at most 24.
    #[arg(long, value_name = "N", default_value = "1", value_parser = calls)]
    pub(crate) tools: usize,
    /// The percentage of failures, of all places where a failure is possible.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) chaos: u8,
    /// The percentage of turns that are dismissed, and of questions that stay open.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) dismiss: u8,
    /// The store of the chats: memory, or a temporary file with every commit synced.
    #[arg(long, default_value = "sqlite")]
    pub(crate) store: StressStore,
    /// The model: `scripted` follows the plan of the seed; `bundled` or the path of a GGUF file answers freely.
    #[arg(long, value_name = "MODEL", default_value = "scripted", value_parser = played)]
    pub(crate) model: Played,
    /// The place where a model runs, unless it is scripted.
    #[arg(long, value_name = "PLACE", default_value = "child")]
    pub(crate) engine: EngineHost,
    /// The seed of the faults: the same number gives the same faults. Without it, a new one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Turns at once; the other chats wait.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub(crate) in_flight: usize,
    /// Make this mistake, to see that it is counted: one that docs/proof.md has stress find.
    #[arg(long, value_name = "MISTAKE", value_parser = mistake)]
    pub(crate) plant: Option<Mistake>,
    /// Print the report as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

#[derive(Debug, Options)]
pub(crate) struct Eval {
    /// A file of cases: JSON lines, or sealed (.hex) with a hash beside it (.hex.sha256). May be repeated. Without it,
    /// the open cases of this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// Run the sealed cases of this program too. They are counted, and their content is not printed.
    #[arg(long = "sealed")]
    pub(crate) with_sealed: bool,
    /// Print the content of sealed cases too, which makes them worthless.
    #[arg(long = "show-sealed")]
    pub(crate) shows_sealed: bool,
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    /// The toolkits of the model and of the cases, separated by commas. Without it, all.
    #[arg(long = "toolkit", alias = "toolkits", value_name = "LIST", value_delimiter = ',')]
    toolkits: Vec<Toolkit>,
    /// Run only cases with this in their id, such as `single`, `ko` or `life-en-chain-03`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// For each case that is not right, print what was expected and what came.
    #[arg(long = "details")]
    pub(crate) shows_details: bool,
    /// End with exit code 1 if fewer percent of the cases are right in everything.
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u8).range(..=100))]
    pub(crate) at_least: Option<u8>,
    /// Run nothing: tell whether the cases can be run and their seal is intact.
    #[arg(long = "check", conflicts_with_all = ["model", "hf", "script", "at_least"])]
    pub(crate) is_to_check: bool,
    /// Print the report as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StressStore {
    Memory,
    Sqlite,
}

/// The model under stress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Played {
    Scripted,
    Bundled,
    File(PathBuf),
}

impl Eval {
    pub(crate) fn toolkits(&self) -> Toolkits {
        let all = Toolkit::value_variants();
        let names = if self.toolkits.is_empty() { all.to_vec() } else { self.toolkits.clone() };
        Toolkits { names }
    }
}

fn at_least_one(number: &str) -> Result<usize, String> {
    let number: usize = number.parse().map_err(|error| format!("{error}"))?;
    if number > 0 { Ok(number) } else { Err("at least 1".to_owned()) }
}

/// Allows three rounds of as many calls as one completion may have.
fn calls(number: &str) -> Result<usize, String> {
    const MOST: usize = 24;
    let number: usize = number.parse().map_err(|error| format!("{error}"))?;
    if number <= MOST { Ok(number) } else { Err(format!("at most {MOST}")) }
}

fn mistake(name: &str) -> Result<Mistake, String> {
    let names = || Mistake::ALL.iter().map(|mistake| mistake.name()).collect::<Vec<_>>();
    Mistake::named(name).ok_or_else(|| format!("one of {}", names().join(", ")))
}

#[expect(clippy::unnecessary_wraps, reason = "clap's value parsers have this form")]
fn played(model: &str) -> Result<Played, String> {
    Ok(match model {
        "scripted" => Played::Scripted,
        "bundled" => Played::Bundled,
        path => Played::File(path.into()),
    })
}
