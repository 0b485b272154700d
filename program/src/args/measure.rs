//! The commands that measure and prove: stress, bench-model and eval.

use std::path::PathBuf;

use clap::{Args as Options, ValueEnum, value_parser};

use super::shared::{EnginePlace, ModelChoice, Toolkit, Toolkits};
use crate::stress::Bug;

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
    /// How much goes wrong, in percent of the places where something can.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) chaos: u8,
    /// Turns that are dismissed, and questions that are left open, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) dismiss: u8,
    /// Where the chats are kept: in memory, or in a temporary file with every commit synced.
    #[arg(long, default_value = "sqlite")]
    pub(crate) store: StressStore,
    /// `scripted` follows the plan of the seed; `bundled` or the path of a GGUF file says what it likes.
    #[arg(long, value_name = "MODEL", default_value = "scripted", value_parser = played)]
    pub(crate) model: Played,
    /// Where a model runs that is no plan.
    #[arg(long, value_name = "PLACE", default_value = "child")]
    pub(crate) engine: EnginePlace,
    /// The same faults in the same places for the same number. Without it, another one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Turns at once; the other chats wait for a place.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub(crate) in_flight: usize,
    /// Make this mistake, to see that it is counted.
    #[arg(long, value_name = "BUG")]
    pub(crate) plant: Option<Bug>,
    /// Print the report as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

#[derive(Debug, Options)]
pub(crate) struct BenchModel {
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    /// Chats at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = at_least_one)]
    pub(crate) sessions: usize,
    /// Turns of each chat.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub(crate) turns: usize,
    /// Tokens of a completion at most.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = value_parser!(u32).range(1..))]
    pub(crate) tokens: u32,
    /// Print the report as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

#[derive(Debug, Options)]
pub(crate) struct Eval {
    /// Cases as JSON lines, or sealed (.hex) with their hash beside them (.hex.sha256); may be repeated. Without it, the
    /// open cases of this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// Run also the sealed cases of this program. They are counted; what is in them is not printed.
    #[arg(long = "sealed")]
    pub(crate) with_sealed: bool,
    /// Print of sealed cases what is printed of open ones: they are worth nothing afterwards.
    #[arg(long = "show-sealed")]
    pub(crate) shows_sealed: bool,
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    /// The toolkits whose tools the model has and whose cases are run, separated by commas. Without it, all.
    #[arg(long = "toolkit", alias = "toolkits", value_name = "LIST", value_delimiter = ',')]
    toolkits: Vec<Toolkit>,
    /// Run only cases that have this in their id, such as `single`, `ko` or `life-en-chain-03`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print of each case that is not right what was expected and what came.
    #[arg(long = "details")]
    pub(crate) shows_details: bool,
    /// End with exit code 1 unless so many percent of the cases are right in everything.
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u8).range(..=100))]
    pub(crate) at_least: Option<u8>,
    /// Run nothing: say whether the cases can be run and their seal is whole.
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

/// What answers under stress.
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

/// Three rounds of as many calls as one completion may have.
fn calls(number: &str) -> Result<usize, String> {
    const MOST: usize = 24;
    let number: usize = number.parse().map_err(|error| format!("{error}"))?;
    if number <= MOST { Ok(number) } else { Err(format!("at most {MOST}")) }
}

#[expect(clippy::unnecessary_wraps, reason = "clap's value parsers have this form")]
fn played(model: &str) -> Result<Played, String> {
    Ok(match model {
        "scripted" => Played::Scripted,
        "bundled" => Played::Bundled,
        path => Played::File(path.into()),
    })
}
