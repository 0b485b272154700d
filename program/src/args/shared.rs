//! Options that several commands share: model, database, user, tools.

use std::{env, path::PathBuf, str::FromStr, sync::Arc};

use clap::{Args as Options, ValueEnum};
use madang::{
    ModelName, SessionId, UserId,
    model::remote::{Provider, UnknownProvider},
};

use crate::hub::{HubName, Sum};

/// The model and the place where it runs.
#[derive(Debug, Options)]
pub(crate) struct ModelChoice {
    /// The model: a GGUF file. Without it, the bundled demonstration model.
    #[arg(long, value_name = "PATH", conflicts_with = "script")]
    pub(crate) model: Option<PathBuf>,
    /// The model by its name on Hugging Face, downloaded once as by `madang fetch`.
    #[arg(long, value_name = "OWNER/REPO[:QUANT][@COMMIT]", conflicts_with_all = ["model", "script"])]
    pub(crate) hf: Option<HubName>,
    /// The checksum that the (first) file of the model with --hf must have.
    #[arg(long, value_name = "HEX", requires = "hf")]
    pub(crate) sha256: Option<Sum>,
    /// A script instead of a model: JSON lines, one completion each.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: Remote,
    /// The place where the model runs. Scripts and remote models always run from this process.
    #[arg(long, value_name = "PLACE", default_value = "child")]
    pub(crate) engine: EngineHost,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

impl ModelChoice {
    /// Chooses this file, or the bundled model.
    pub(crate) fn of_file(model: Option<PathBuf>, engine: EngineHost) -> Self {
        let remote = Remote::default();
        let tuning = Tuning::default();
        Self { model, hf: None, sha256: None, script: None, remote, engine, tuning }
    }
}

/// A model behind an API.
#[derive(Debug, Default, Clone, Options)]
pub(crate) struct Remote {
    /// A model behind an API: openai, anthropic, gemini or ollama, and its name. The key comes from
    /// `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`.
    #[arg(long = "remote", value_name = "PROVIDER:MODEL", conflicts_with_all = ["model", "hf", "script"])]
    pub(crate) name: Option<RemoteName>,
    /// The address of a server that speaks the provider's format, such as
    /// `http://127.0.0.1:8080/v1`. Its key comes from `MADANG_REMOTE_KEY`.
    #[arg(long = "remote-url", value_name = "URL", requires = "name")]
    pub(crate) url: Option<String>,
    /// The number of tokens in which a remote model may think before it answers.
    #[arg(long = "remote-thinking", value_name = "TOKENS", requires = "name")]
    pub(crate) thinking: Option<u32>,
    /// The size of Ollama's context, in tokens of prompt and answer. Without it, 16384.
    #[arg(long = "remote-context", value_name = "TOKENS", requires = "name")]
    pub(crate) context: Option<u32>,
}

/// The provider of a model, and its name there.
#[derive(Debug, Clone)]
pub(crate) struct RemoteName {
    pub(crate) provider: Provider,
    pub(crate) model: String,
}

impl RemoteName {
    /// Returns the name of the model in the runtime.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.provider.name(), self.model)
    }
}

impl FromStr for RemoteName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = name.split_once(':').filter(|(_, model)| !model.is_empty());
        let (provider, model) =
            named.ok_or("give PROVIDER:MODEL, such as anthropic:claude-opus-4-5")?;
        let provider = provider.parse().map_err(|error: UnknownProvider| error.to_string())?;
        Ok(Self { provider, model: model.to_owned() })
    }
}

/// The models that follow the first.
#[derive(Debug, Default, Options)]
pub(crate) struct FallBacks {
    /// A remote model that is asked if the one before it is overloaded or cannot be reached, and
    /// has streamed nothing. Can be given several times, in order. Without an address, its
    /// provider's is used.
    #[arg(long = "fall-back", value_name = "PROVIDER:MODEL[@URL]")]
    pub(crate) models: Vec<FallBack>,
}

/// A remote model that follows another.
#[derive(Debug, Clone)]
pub(crate) struct FallBack {
    pub(crate) model: RemoteName,
    pub(crate) url: Option<String>,
}

impl FallBack {
    /// Returns the name of the model in the runtime. It contains only the host of an address.
    pub(crate) fn name(&self) -> String {
        let host = self.url.as_ref().and_then(|url| url.split("//").nth(1)?.split('/').next());
        let host = host.and_then(|host| host.rsplit('@').next());
        match host {
            Some(host) => format!("{}@{host}", self.model.name()),
            None => self.model.name(),
        }
    }
}

impl FromStr for FallBack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = ["@http://", "@https://"].into_iter().find_map(|mark| text.find(mark));
        let (model, url) = match at {
            Some(at) => (&text[..at], Some(text[at + 1..].to_owned())),
            None => (text, None),
        };
        let fall_back = Self { model: model.parse()?, url };
        let name = ModelName::new(fall_back.name());
        name.map(|_| fall_back).map_err(|error| error.to_string())
    }
}

/// Options of the computation.
#[derive(Debug, Default, Clone, Copy, Options)]
pub(crate) struct Tuning {
    /// Flash attention: faster with many chats, but an answer may depend on other chats at the same
    /// time. Without it, off for the bundled model and on for others.
    #[arg(long, value_name = "SWITCH")]
    pub(crate) flash_attention: Option<Switch>,
    /// The most tokens of a chat with its tools and the answer, up to those that the model was
    /// trained for. Without it, as many as half of the free memory holds, from 4096 to 32768.
    #[arg(long = "context", value_name = "TOKENS")]
    pub(crate) context_tokens: Option<u32>,
    /// The number of layers that the graphics card keeps. Without it, all if this program was built
    /// for a card, otherwise none.
    #[arg(long, value_name = "N")]
    pub(crate) gpu_layers: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// The place where a model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineHost {
    /// In a process of its own: a crash or a hang costs only the running answers, and another
    /// process starts.
    Child,
    /// In this process: uses less memory, but a crash in llama.cpp ends the program.
    Process,
}

#[derive(Debug, Options)]
pub(crate) struct Database {
    /// The database file. Without it, `madang/madang.db` among the user's data.
    #[arg(long = "db", value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Options)]
pub(crate) struct Person {
    /// The user of the chats and habits. Without it, the name in `$USER`.
    #[arg(long, value_name = "ID", value_parser = user, default_value_t = usual_user(), hide_default_value = true)]
    pub(crate) user: UserId,
}

#[derive(Debug, Options)]
pub(crate) struct Workspace {
    /// The folder of this user's notes as Markdown files. Without it, a folder beside the database.
    #[arg(long = "workspace", value_name = "PATH")]
    pub(crate) folder: Option<PathBuf>,
}

/// The options of all commands that run tools: the user, the tools and the data.
#[derive(Debug, Options)]
pub(crate) struct ToolOptions {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) person: Person,
    #[command(flatten)]
    pub(crate) toolkits: Toolkits,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
    /// The time zone in which a day begins and ends, such as Asia/Seoul. Without it, the machine's.
    #[arg(long = "time-zone", value_name = "NAME", value_parser = time_zone)]
    pub(crate) time_zone: Option<Arc<str>>,
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

#[derive(Debug, Options)]
pub(crate) struct McpChoice {
    /// A file with the usual key `mcpServers`, whose MCP servers offer further tools to the chats.
    /// Each of their tools asks, unless the file trusts a server's annotations.
    #[arg(long = "mcp", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Toolkit {
    /// Habits: a catalogue, a person's daily record, and the rules.
    Life,
    /// Notes: pages of nested blocks.
    Notes,
}

impl Toolkits {
    /// Returns all toolkits.
    pub(crate) fn all() -> Self {
        Self { names: Toolkit::value_variants().to_vec() }
    }
}

impl Toolkit {
    /// Returns the name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Life => "life",
            Self::Notes => "notes",
        }
    }
}

/// Returns the user of this machine's account.
pub(super) fn usual_user() -> UserId {
    let named = env::var("USER").ok().and_then(|name| UserId::new(name).ok());
    named.unwrap_or_else(|| UserId::new("me").expect("a short name without control characters"))
}

pub(super) fn session(id: &str) -> Result<SessionId, String> {
    SessionId::new(id).map_err(|error| error.to_string())
}

fn time_zone(name: &str) -> Result<Arc<str>, String> {
    match jiff::tz::TimeZone::get(name) {
        Ok(_) => Ok(name.into()),
        Err(_) => {
            Err("there is no such time zone: give a name such as Asia/Seoul or UTC".to_owned())
        }
    }
}

pub(super) fn user(id: &str) -> Result<UserId, String> {
    UserId::new(id).map_err(|error| error.to_string())
}
