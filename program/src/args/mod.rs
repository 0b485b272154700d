//! What can be typed on the command line.

mod daily;
mod measure;
mod shared;

use clap::{Parser, Subcommand};

pub(crate) use daily::{Call, Chat, Confirmation, Engine, Fetch, Forget, Format, Ledger, Tools};
pub(crate) use measure::{BenchModel, Eval, Played, Stress, StressStore};
#[cfg(feature = "llama")]
pub(crate) use shared::Switch;
pub(crate) use shared::{Database, EnginePlace, ModelChoice, Person, Toolkit, Toolkits, Tuning};

use crate::notes::Notes;

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
    /// Print the recorded tool calls as JSON lines, in order; or check that they are unchanged.
    Ledger(Ledger),
    /// Erase all that the database has of a user: chats, habits, notes, and the folder of notes beside the database.
    ///
    /// The database must not be in use. Of each chat the hashes of its recorded calls stay, with the person that ordered it and when, so
    /// that `madang ledger --verify` tells this from rows that were removed. The files are written anew, for which the
    /// disk needs room for one more copy. Ended halfway, it is run again. Not reached: backups, copies that the file system
    /// keeps, logs, and folders that were named with --workspace.
    Forget(Forget),
    /// Download a model from Hugging Face, if it is not here, and print its path.
    ///
    /// It lies in the cache that llama.cpp and the hub's own tools share (HF_HUB_CACHE, HF_HOME, else
    /// ~/.cache/huggingface/hub). A download that breaks off goes on the next time, and a file is used only when its
    /// checksum is right. HF_TOKEN opens what is not public, HF_ENDPOINT names another hub, and
    /// HF_HUB_OFFLINE=1 asks none.
    Fetch(Fetch),
    /// Work on notes without a model.
    #[command(subcommand)]
    Notes(Notes),
    /// Drive many chats at once, let much go wrong, and count what was promised.
    ///
    /// Each chat asks, is asked, answers, leaves; tools panic, fail, dawdle; actors are killed. An oracle that is kept apart
    /// from the store is compared with the ledger and the table of effects at the end: effects lost, doubled, unasked or
    /// misreported, and chats disturbed by another's failure. All must be 0, or the exit code is 1.
    Stress(Stress),
    /// Let many chats ask a model at once, and measure what each waits for and how fast it is served.
    ///
    /// The chats have the tools of the toolkit `life` and a database that is removed at the end; no person is asked, so tools
    /// that must be confirmed are not run. Waits are told in milliseconds: until the model takes a completion, and until its
    /// first token.
    #[command(name = "bench-model")]
    BenchModel(BenchModel),
    /// Run cases with a model, and score what it makes of them.
    ///
    /// A case has the rows before it, the user's texts, the answers to questions, and what must come of it: exactly
    /// which calls, which rows in the database, which calls not, and what the texts must say or not claim. Each is run
    /// through the runtime on a fresh database. The form of a case stands in program/eval/README.md.
    Eval(Eval),
    /// Run a model for the program that started this one, and talk with it through the pipes.
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
