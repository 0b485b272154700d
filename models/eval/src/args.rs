//! The options of the program. Their comments are the help text.

use std::{path::PathBuf, str::FromStr};

use clap::{Args as Options, Parser, ValueEnum as _, value_parser};
use madang::model::remote::{Provider, UnknownProvider};

use crate::toolkit::Toolkit;

/// Run cases with a model, and score the results.
///
/// A case has the rows before it, the user's texts, and the answers to questions. It expects calls,
/// rows and words of the texts, and forbids others. Each case runs through the runtime on a fresh
/// database. models/eval/README.md describes its form.
#[derive(Debug, Parser)]
#[command(name = "eval", version)]
pub(crate) struct Args {
    /// A file of cases: JSON lines, or sealed (.hex) with a hash beside it (.hex.sha256). May be
    /// repeated. Without it, the open cases of this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// Run the sealed cases of this program too. They are counted, and their content is not
    /// printed.
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
    /// Run nothing: report whether the cases can be run and their seal is intact.
    #[arg(long = "check", conflicts_with_all = ["model", "script", "remote", "at_least"])]
    pub(crate) is_to_check: bool,
    /// Print the report as JSON.
    #[arg(long = "json")]
    pub(crate) is_json: bool,
}

/// The model that is judged.
#[derive(Debug, Clone, Options)]
pub(crate) struct ModelChoice {
    /// The model: a GGUF file, such as one that `madang fetch` printed. Without it, the bundled
    /// model.
    #[arg(long, value_name = "PATH", conflicts_with = "script")]
    pub(crate) model: Option<PathBuf>,
    /// Take the file for one of the demonstration model, such as one that was just trained: code
    /// writes the texts that it leaves to code, as in the program.
    #[arg(long = "demonstration", requires = "model")]
    pub(crate) is_demonstration: bool,
    /// A script instead of a model: JSON lines, one completion each.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// A model behind an API: openai, anthropic, gemini or ollama, and its name. The key comes from
    /// `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`.
    #[arg(long, value_name = "PROVIDER:MODEL", conflicts_with_all = ["model", "script"])]
    pub(crate) remote: Option<RemoteName>,
    /// The address of a server that speaks the provider's format, such as
    /// `http://127.0.0.1:8080/v1`. Its key comes from `MADANG_REMOTE_KEY`.
    #[arg(long, value_name = "URL", requires = "remote")]
    pub(crate) remote_url: Option<String>,
    /// The number of tokens in which a remote model may think before it answers.
    #[arg(long, value_name = "TOKENS", requires = "remote")]
    pub(crate) remote_thinking: Option<u32>,
    /// The size of Ollama's context, in tokens of prompt and answer. Without it, 16384.
    #[arg(long, value_name = "TOKENS", requires = "remote")]
    pub(crate) remote_context: Option<u32>,
    /// The most tokens of a chat with its tools and the answer, up to those that the model was
    /// trained for.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) context: Option<u32>,
    /// The number of layers that the graphics card keeps. Without it, all if this program was built
    /// for a card, otherwise none.
    #[arg(long, value_name = "N")]
    pub(crate) gpu_layers: Option<u32>,
}

/// The provider of a model, and its name there.
#[derive(Debug, Clone)]
pub(crate) struct RemoteName {
    pub(crate) provider: Provider,
    pub(crate) model: String,
}

impl Args {
    pub(crate) fn toolkits(&self) -> Vec<Toolkit> {
        if self.toolkits.is_empty() {
            Toolkit::value_variants().to_vec()
        } else {
            self.toolkits.clone()
        }
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
