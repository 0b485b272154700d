//! Options of `madang stress`.

use std::path::PathBuf;

use clap::{Args as Options, ValueEnum, value_parser};
use madang_proof::mistakes::Mistake;

use super::shared::EngineHost;

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
    /// The percentage of failures among all places where a failure is possible.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) chaos: u8,
    /// The percentage of turns that are dismissed, and of questions that stay open.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(..=100))]
    pub(crate) dismiss: u8,
    /// The store of the chats: memory, or a temporary file with every commit synced.
    #[arg(long, default_value = "sqlite")]
    pub(crate) store: StressStore,
    /// The model: `scripted` follows the plan of the seed; `bundled` or the path of a GGUF file
    /// answers freely.
    #[arg(long, value_name = "MODEL", default_value = "scripted", value_parser = played)]
    pub(crate) model: Played,
    /// The place where a model runs, unless it is scripted.
    #[arg(long, value_name = "PLACE", default_value = "child")]
    pub(crate) engine: EngineHost,
    /// The seed of the faults: the same number gives the same faults. Without it, a new one each
    /// time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Turns at once; the other chats wait.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub(crate) in_flight: usize,
    /// Make this mistake, to see that it is counted: one of those that docs/proof.md lists for
    /// stress.
    #[arg(long, value_name = "MISTAKE", value_parser = mistake)]
    pub(crate) plant: Option<Mistake>,
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
