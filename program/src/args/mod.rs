//! Parses the command line.
//!
//! `daily` has the options of the daily commands, `serving` those of the server, and `notes` those
//! of `madang notes`. `stress` has those of `madang stress`, and `shared` the options of several
//! commands. Their comments are the help texts. A command takes its own struct:
//!
//! ```text
//! madang ledger --verify --session one   gives   Command::Ledger(Ledger { is_to_verify: true, .. })
//! ```
//!
//! Invariants:
//! - A parser refuses a bad value with a sentence, before any command opens a file.
//! - The options in `shared` mean the same in each command, because one struct declares them.

mod daily;
mod mcp;
mod notes;
mod serving;
mod shared;
mod stress;

use clap::{Parser, Subcommand};

pub(crate) use daily::{ApprovalMode, Call, Chat, Engine, Fetch, Forget, Format, Ledger, Tools};
pub(crate) use mcp::{McpOrder, McpServe};
pub(crate) use notes::Notes;
pub(crate) use serving::{Serve, TokenAdd, TokenLocation, TokenOrder};
#[cfg(feature = "llama")]
pub(crate) use shared::Switch;
pub(crate) use shared::{
    Database, EngineHost, FallBacks, McpChoice, ModelChoice, Remote, RemoteName, ToolOptions,
    Toolkit, Toolkits, Tuning,
};
pub(crate) use stress::{Played, Stress, StressStore};

/// An assistant with tools, in the terminal.
///
/// What a tool did is never lost, never done twice, never done unasked, and never misreported.
#[derive(Debug, Parser)]
#[command(name = "madang", version)]
pub(crate) struct Args {
    /// Also print the causes of a failure.
    #[arg(long = "verbose", short = 'v', global = true, display_order = 100)]
    pub(crate) is_verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat: in a terminal with line editing; otherwise each line of standard input is a turn.
    ///
    /// SIGTERM ends it gracefully within 35 seconds, with exit code 0: no new turn begins, the
    /// model stops, and running tools finish. An open turn and its question continue with
    /// --session.
    Chat(Box<Chat>),
    /// Serve chats over HTTP: a page for browsers, a native API, and Chat Completions.
    ///
    /// It prints `listening ADDRESS` and a link to the page. SIGTERM ends it gracefully within 35
    /// seconds: no new turn begins, running tools finish, and streams send the time after which to
    /// reconnect. A second signal ends it at once. Open turns and their questions continue after
    /// the next start.
    Serve(Box<Serve>),
    /// Create, list and remove the tokens with which programs and people use a server.
    #[command(subcommand)]
    Token(TokenOrder),
    /// Print the tools as JSON.
    Tools(Tools),
    /// Offer the tools to MCP clients, or list the tools of MCP servers and trust them.
    #[command(subcommand)]
    Mcp(McpOrder),
    /// Make one tool call without a model, and print what a model would read.
    ///
    /// SIGTERM ends it gracefully within 35 seconds, with exit code 0. A running tool finishes, and
    /// its result is recorded and printed. A call that has not begun, or whose question is open,
    /// does not run.
    Call(Call),
    /// Print the recorded tool calls as JSON lines, in order, or check that they are unchanged.
    Ledger(Ledger),
    /// Erase all that the database has of a user: chats, habits, notes, and the folder of notes
    /// beside the database.
    ///
    /// The database must not be in use. For each chat, the hashes of its recorded calls are kept,
    /// with the person and the time of the order, so that `madang ledger --verify` can distinguish
    /// this from removed rows. The files are rewritten, which needs room for one more copy on the
    /// disk. Run it again if it was interrupted. It does not erase backups, copies that the file
    /// system keeps, logs, and folders of notes elsewhere, except the one that --workspace names.
    Forget(Forget),
    /// Download a model from Hugging Face, unless it is here, and print its path.
    ///
    /// The model is stored in the cache of llama.cpp and the hub's own tools (HF_HUB_CACHE,
    /// HF_HOME, otherwise ~/.cache/huggingface/hub). An interrupted download resumes the next time,
    /// and a file is used only if its checksum is correct. HF_TOKEN gives access to private models,
    /// HF_ENDPOINT names another hub, and HF_HUB_OFFLINE=1 uses none.
    Fetch(Fetch),
    /// Work on notes without a model.
    #[command(subcommand)]
    Notes(Notes),
    /// Run many chats at once with many failures, and count broken promises.
    ///
    /// The chats send, ask, answer and leave; tools panic, fail and delay; actors are killed. At
    /// the end, a record kept outside of the store is compared with the ledger and the table of
    /// effects. It counts effects that are lost, doubled, unasked or misreported, and chats
    /// disturbed by another's failure. If any count is not 0, the exit code is 1.
    Stress(Stress),
    /// Run a model for the program that started this one, over the pipes.
    #[command(hide = true)]
    Engine(Engine),
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
