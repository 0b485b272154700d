//! What can be typed on the command line.

use std::{env, path::PathBuf};

use clap::{Args as Options, Parser, Subcommand, ValueEnum, value_parser};
use madang::{Decision, Digest, Locale, SessionId, UserId};

use crate::{
    hub::HubName,
    language::{Language, spoken},
    notes::{Notes, Workspace},
    stress::Bug,
};

/// An assistant with tools, in the terminal.
///
/// What a tool did is never lost, never done twice, never done unasked, and never misreported.
#[derive(Debug, Parser)]
#[command(name = "madang", version)]
pub(crate) struct Args {
    /// Say also why something failed.
    #[arg(long = "verbose", short = 'v', global = true, display_order = 100)]
    pub(crate) is_verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat: in a terminal with line editing; else each line of standard input is a turn.
    ///
    /// SIGTERM ends it in order and with exit code 0, within 35 seconds: no new turn, the model stops, tools that run
    /// finish. A turn and its question stay open, and go on with --session.
    Chat(Chat),
    /// Print the tools as JSON.
    Tools(Tools),
    /// Make one tool call without a model, and print what a model would read.
    ///
    /// SIGTERM ends it in order and with exit code 0, within 35 seconds: a tool that runs finishes and is recorded, and
    /// what it did is printed; a call that has not begun does not, and neither does one whose question is open.
    Call(Call),
    /// Print the recorded tool calls as JSON lines, in order; or check that nobody has changed them.
    Ledger(Ledger),
    /// Download a model from Hugging Face, if it is not here, and print its path.
    ///
    /// It lies in the cache that llama.cpp and the hub's own tools share (HF_HUB_CACHE, HF_HOME, else
    /// ~/.cache/huggingface/hub). A download that breaks off goes on the next time, and a file is used only when its
    /// checksum is right. HF_TOKEN opens what is not open to everybody, HF_ENDPOINT names another hub, and
    /// HF_HUB_OFFLINE=1 asks none.
    Fetch(Fetch),
    /// Work on notes without a model.
    #[command(subcommand)]
    Notes(Notes),
    /// Drive many chats at once, let much go wrong, and count what was promised.
    ///
    /// Each chat asks, is asked, answers, leaves; tools panic, fail, dawdle; actors are killed. A book that is kept apart
    /// from the store is compared with the ledger and the table of effects at the end: effects lost, doubled, unasked or
    /// misreported, and chats disturbed by another's failure. All must be 0, or the exit code is 1.
    Stress(Stress),
    /// Let many chats ask a model at once, and measure what each waits for and how fast it is served.
    ///
    /// The chats have the tools of the toolkit `life` and a database that is removed at the end; nobody is asked, so tools
    /// that must be confirmed are not run. Waits are told in milliseconds: until the model takes a completion, and until its
    /// first token.
    #[command(name = "bench-model")]
    BenchModel(BenchModel),
    /// Run cases with a model, and score what it makes of them.
    ///
    /// A case says what is there before, what the user says and how questions are answered, and what must come of it:
    /// exactly which calls, which rows in the database, which calls not, and what the texts must say or not claim. Each
    /// is run through the runtime on a fresh database. The form of a case stands in tests/eval/README.md.
    Eval(Eval),
    /// Run a model for the program that started this one, and talk with it through the pipes.
    #[command(hide = true)]
    Engine(Engine),
}

/// Which model answers, and where it runs.
#[derive(Debug, Options)]
pub(crate) struct ModelChoice {
    /// The model: a GGUF file. Without it, the bundled demonstration model.
    #[arg(long, value_name = "PATH", conflicts_with = "script")]
    pub(crate) model: Option<PathBuf>,
    /// The model by its name on Hugging Face: it is downloaded once, as `madang fetch` does.
    #[arg(long, value_name = "OWNER/REPO[:QUANT]", conflicts_with_all = ["model", "script"])]
    pub(crate) hf: Option<HubName>,
    /// A script in place of a model: JSON lines, one completion each.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Where the model runs. A script runs in this process always.
    #[arg(long, value_name = "PLACE", default_value = "child")]
    pub(crate) engine: EnginePlace,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

impl ModelChoice {
    /// This file, or the bundled model.
    pub(crate) fn of_file(model: Option<PathBuf>, engine: EnginePlace) -> Self {
        Self { model, hf: None, script: None, engine, tuning: Tuning::default() }
    }
}

/// How a model is computed.
#[derive(Debug, Default, Clone, Copy, Options)]
pub(crate) struct Tuning {
    /// Flash attention: faster the more chats there are, but a chat may say something else beside others than alone.
    /// Without it, off for the bundled model and on for others.
    #[arg(long, value_name = "SWITCH")]
    pub(crate) flash_attention: Option<Switch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Debug, Options)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) person: Person,
    /// The chat to go on with; it is created if there is none. Without it, a new one.
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    #[command(flatten)]
    pub(crate) toolkits: Toolkits,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
    /// The language. Without it, that of the environment.
    #[arg(long)]
    locale: Option<Language>,
    /// Who answers questions before a call that must be confirmed.
    #[arg(long)]
    pub(crate) confirm: Option<Confirmation>,
    /// Print one event a line, as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

#[derive(Debug, Options)]
pub(crate) struct Tools {
    /// The form: plain, or that of a model's API.
    #[arg(long, default_value = "plain")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) toolkits: Toolkits,
}

#[derive(Debug, Options)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments, a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) arguments: String,
    /// How the question is answered where the call must be confirmed. Without it nobody is asked, and it does not run.
    #[arg(long)]
    confirm: Option<Answer>,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) person: Person,
    #[command(flatten)]
    pub(crate) toolkits: Toolkits,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
    /// The language. Without it, that of the environment.
    #[arg(long)]
    locale: Option<Language>,
}

#[derive(Debug, Options)]
pub(crate) struct Ledger {
    /// Only this chat's.
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Check the chain of hashes and every call's steps instead, and print each chat's head, to be kept elsewhere.
    #[arg(long = "verify")]
    pub(crate) is_to_verify: bool,
    /// The head of this chat that an earlier check printed: nothing before it has changed since.
    #[arg(long, value_name = "HASH", value_parser = head, requires = "is_to_verify", requires = "session")]
    pub(crate) head: Option<Digest>,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The language. Without it, that of the environment.
    #[arg(long, requires = "is_to_verify")]
    locale: Option<Language>,
}

#[derive(Debug, Options)]
pub(crate) struct Fetch {
    /// The model. Without QUANT it is Q4_K_M, else Q8_0, else the first GGUF.
    #[arg(value_name = "OWNER/REPO[:QUANT]")]
    pub(crate) name: HubName,
    /// The language. Without it, that of the environment.
    #[arg(long)]
    locale: Option<Language>,
}

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
    /// Turns that are dismissed, in percent.
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

#[derive(Debug, Options)]
pub(crate) struct Engine {
    /// A GGUF file. Without it, the bundled demonstration model.
    #[arg(long, value_name = "PATH", conflicts_with = "script")]
    pub(crate) model: Option<PathBuf>,
    /// A script in place of a model: JSON lines, one completion each.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

/// Where a model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnginePlace {
    /// In a process of its own: if that crashes or hangs, it costs the answers that were being written, and another is
    /// started.
    Child,
    /// In this process: less memory, and a crash in llama.cpp ends the program.
    Process,
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

#[derive(Debug, Options)]
pub(crate) struct Database {
    /// The database file. Without it, `madang/madang.db` among the user's data.
    #[arg(long = "db", value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Options)]
pub(crate) struct Person {
    /// Whose chats and habits. Without it, the name in `$USER`.
    #[arg(long, value_name = "ID", value_parser = user)]
    user: Option<UserId>,
}

#[derive(Debug, Options)]
pub(crate) struct Toolkits {
    /// The toolkits, separated by commas.
    #[arg(
        long = "toolkit",
        alias = "toolkits",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "life"
    )]
    pub(crate) names: Vec<Toolkit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Toolkit {
    /// Habits: a catalogue, what a person does daily, and the rules.
    Life,
    /// Notes: pages of nested blocks.
    Notes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Plain,
    Openai,
    Anthropic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Confirmation {
    /// Ask in the terminal.
    Ask,
    /// Say yes to every question.
    Approve,
    /// Say no to every question.
    Deny,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Answer {
    Approve,
    Deny,
}

impl Chat {
    pub(crate) fn locale(&self) -> Locale {
        spoken(self.locale)
    }
}

impl Call {
    pub(crate) fn locale(&self) -> Locale {
        spoken(self.locale)
    }

    pub(crate) fn decision(&self) -> Option<Decision> {
        self.confirm.map(|answer| match answer {
            Answer::Approve => Decision::Approve,
            Answer::Deny => Decision::Deny,
        })
    }
}

impl Eval {
    pub(crate) fn toolkits(&self) -> Toolkits {
        let all = Toolkit::value_variants();
        let names = if self.toolkits.is_empty() { all.to_vec() } else { self.toolkits.clone() };
        Toolkits { names }
    }
}

impl Fetch {
    pub(crate) fn locale(&self) -> Locale {
        spoken(self.locale)
    }
}

impl Ledger {
    pub(crate) fn locale(&self) -> Locale {
        spoken(self.locale)
    }
}

impl Person {
    pub(crate) fn user(&self) -> UserId {
        let named = || env::var("USER").ok().and_then(|name| UserId::new(name).ok());
        let given = self.user.clone().or_else(named);
        given.unwrap_or_else(|| UserId::new("me").expect("a short name without control characters"))
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

fn session(id: &str) -> Result<SessionId, String> {
    SessionId::new(id).map_err(|error| error.to_string())
}

fn head(hash: &str) -> Result<Digest, String> {
    Digest::try_from(hash.to_owned()).map_err(|error| error.to_owned())
}

fn user(id: &str) -> Result<UserId, String> {
    UserId::new(id).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
