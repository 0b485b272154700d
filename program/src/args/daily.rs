//! Options of the daily commands: chat, tools, call, ledger, forget, fetch, and the engine that
//! they start.

use std::path::PathBuf;

use clap::{Args as Options, ValueEnum};
use madang::{
    SessionId, UserId,
    approval::{Decision, Digest},
};

use super::shared::{
    Database, FallBacks, McpChoice, ModelChoice, ToolOptions, Toolkits, Tuning, session, user,
    usual_user,
};
use crate::{
    hub::{HubName, Sum},
    language::{LanguageChoice, UiLanguage},
};

#[derive(Debug, Options)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    #[command(flatten)]
    pub(crate) fall_backs: FallBacks,
    #[command(flatten)]
    pub(crate) tools: ToolOptions,
    /// The chat to continue; it is created if it does not exist. Without it, a new one.
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    #[command(flatten)]
    pub(crate) mcp: McpChoice,
    #[command(flatten)]
    pub(crate) language: LanguageChoice,
    /// The answer to all questions.
    #[arg(long)]
    pub(crate) confirm: Option<ApprovalMode>,
    /// Print each event as a line of JSON.
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
    /// The tool's name.
    pub(crate) name: String,
    /// The tool's arguments, a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) arguments: String,
    /// The answer to the question of a call that must be confirmed. Without it no question is
    /// asked, and the call does not run.
    #[arg(long)]
    confirm: Option<Answer>,
    /// The chat to append the call to; it is created if it does not exist. Without it, a chat of
    /// its own.
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    #[command(flatten)]
    pub(crate) tools: ToolOptions,
    #[command(flatten)]
    pub(crate) language: LanguageChoice,
}

#[derive(Debug, Options)]
pub(crate) struct Ledger {
    /// Print only the calls of this chat.
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Instead, check the hash chain and the steps of every call, and print the head of each chat,
    /// to be kept elsewhere.
    #[arg(long = "verify")]
    pub(crate) is_to_verify: bool,
    /// The head of this chat that an earlier check printed: check that nothing before it has
    /// changed.
    #[arg(long, value_name = "HASH", value_parser = head, requires = "is_to_verify", requires = "session")]
    pub(crate) head: Option<Digest>,
    /// Add a new seal key before the others. It seals from the next start on, and older keys still
    /// verify older seals.
    #[arg(long = "rotate-seal-key", conflicts_with_all = ["is_to_verify", "session"])]
    pub(crate) is_to_rotate: bool,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The language. Without it, that of the environment.
    #[arg(long, value_enum, default_value_t, hide_default_value = true, requires = "is_to_verify")]
    pub(crate) locale: UiLanguage,
}

#[derive(Debug, Options)]
pub(crate) struct Forget {
    /// The user whose chats, habits and notes are erased.
    #[arg(value_name = "USER", value_parser = user)]
    pub(crate) user: UserId,
    /// Do not ask first. Required without a terminal.
    #[arg(long = "yes")]
    pub(crate) is_confirmed: bool,
    /// The person who orders it, which is recorded. Without it, the name in `$USER`.
    #[arg(long, value_name = "ID", value_parser = user, default_value_t = usual_user(), hide_default_value = true)]
    pub(crate) by: UserId,
    /// A folder that keeps the user's notes as files. Files that a person changed are kept and
    /// reported; the others are removed. The folder beside the database is removed in any case.
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// The file of tokens of a server, from which the user's are removed. Without it, the
    /// database's path with `.tokens` appended.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The language. Without it, that of the environment.
    #[arg(long, value_enum, default_value_t, hide_default_value = true)]
    pub(crate) locale: UiLanguage,
}

#[derive(Debug, Options)]
pub(crate) struct Fetch {
    /// The model. Without QUANT, it is Q4_K_M, otherwise Q8_0, otherwise the first GGUF file.
    /// Without COMMIT, it is the newest commit.
    #[arg(value_name = "OWNER/REPO[:QUANT][@COMMIT]")]
    pub(crate) name: HubName,
    /// The checksum that the model's (first) file must have.
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<Sum>,
    /// The language. Without it, that of the environment.
    #[arg(long, value_enum, default_value_t, hide_default_value = true)]
    pub(crate) locale: UiLanguage,
}

#[derive(Debug, Options)]
pub(crate) struct Engine {
    /// A GGUF file. Without it, the bundled demonstration model.
    #[arg(long, value_name = "PATH", conflicts_with = "script")]
    pub(crate) model: Option<PathBuf>,
    /// A script instead of a model: JSON lines, one completion each.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Plain,
    Openai,
    Anthropic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalMode {
    /// Ask in the terminal.
    Ask,
    /// Answer yes to every question.
    Approve,
    /// Answer no to every question.
    Deny,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Answer {
    Approve,
    Deny,
}

impl Call {
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.confirm.map(|answer| match answer {
            Answer::Approve => Decision::Approve,
            Answer::Deny => Decision::Deny,
        })
    }
}

fn head(hash: &str) -> Result<Digest, String> {
    Digest::try_from(hash.to_owned()).map_err(|error| error.to_owned())
}
