//! The program `madang`.
//!
//! Each command is a module: `chat`, `call`, `tools`, `ledger` and `verify`, `forget`, `fetch`,
//! `notes`, `stress`, `serve`, `token`, `mcp` and `mcp_server`, and `engine`, the process in which
//! a model runs.
//!
//! `args` parses the command line, `setup` opens the database and collects the tools, and `model`
//! loads the model. The command then builds a runtime by the public API of the library, as any
//! application would.
//!
//! - A failure is one sentence that says what to do (`failure`), with its causes under `--verbose`.
//! - Texts of models, tools and files reach the terminal only through `output`, which makes them
//!   harmless (`printable`).
//! - A signal ends the program in order, and at the latest after 34 seconds (`signals`).

mod args;
mod beside;
mod bounded_input;
mod call;
mod chat;
mod descriptors;
mod engine;
mod failure;
mod fetch;
mod forget;
mod hub;
mod language;
mod ledger;
mod log;
mod mcp;
mod mcp_server;
mod metrics;
mod model;
mod notes;
mod output;
mod printable;
mod progress;
mod serve;
mod server_files;
mod setup;
mod signals;
mod spread;
mod stress;
mod style;
mod texts;
mod token;
mod tools;
mod verify;

use std::{env, io, process::ExitCode, time::Duration};

use clap::{CommandFactory as _, Parser, error::ErrorKind};
use peak_alloc::PeakAlloc;

use args::{Args, Command};
use failure::Failure;
use log::Log;

/// Counts the heap for `madang stress`, with one addition an allocation.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The time for the last tasks; the runtime's own shutdown has waited for all that matters.
const LAST_TASKS: Duration = Duration::from_secs(3);

/// Returns 0 if all turns or calls were processed, and 1 after a failure; clap ends wrong usage
/// with 2.
fn main() -> ExitCode {
    let Args { is_verbose, command } = Args::parse();
    if let Command::Serve(wanted) = &command
        && let Some(sentence) = wanted.refusal()
    {
        wrong_usage("serve", sentence)
    }
    let said = env::var("RUST_LOG").unwrap_or_default();
    let is_logging = !said.is_empty();
    if is_logging {
        // Without colours, whose sequences could not be told from those of a foreign text.
        let log = tracing_subscriber::fmt().with_writer(|| Log(io::stderr())).with_ansi(false);
        let log = log.with_env_filter(log::filter(&said));
        if let Command::Engine(_) = command {
            // The parent reads this log and adds the time.
            log.without_time().init();
        } else {
            log.init();
        }
    }
    // Before the first thread, so that what is given up here is given up in all.
    let begun = descriptors::keep_to_ourselves()
        .map_err(|cause| Failure::because("failed to list the open files", cause));
    match begun.and_then(|()| run(command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure, is_verbose || is_logging),
    }
}

/// Ends as the parser does if the options of a command do not go together.
fn wrong_usage(command: &str, sentence: String) -> ! {
    let mut all = Args::command();
    all.build();
    let command = all.find_subcommand_mut(command).expect("the parser has just found it");
    command.error(ErrorKind::ArgumentConflict, sentence).exit()
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Tools(wanted) => tools::run(&wanted),
        // What the model's process gives up, it gives up before it has other threads.
        Command::Engine(wanted) => {
            engine::own_pipes().and_then(|pipes| on_threads(engine::run(wanted, pipes)))
        }
        Command::Chat(wanted) => on_threads(chat::run(*wanted)),
        Command::Serve(wanted) => on_threads(serve::run(*wanted)),
        Command::Mcp(wanted) => on_threads(mcp::run(wanted)),
        Command::Token(wanted) => on_threads(async { token::run(wanted) }),
        Command::Call(wanted) => on_threads(call::run(wanted)),
        Command::Ledger(wanted) => on_threads(ledger::run(wanted)),
        Command::Forget(wanted) => on_threads(forget::run(wanted)),
        Command::Fetch(wanted) => on_threads(fetch::run(&wanted)),
        Command::Notes(wanted) => on_threads(notes::run(wanted)),
        Command::Stress(wanted) => on_threads(stress::run(wanted)),
    }
}

/// Runs a command on the threads of a runtime, and gives the last tasks their time.
fn on_threads(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads
        .map_err(|cause| Failure::because("failed to start the program's threads", cause))?;
    let result = threads.block_on(Box::pin(command));
    // The last task that holds the model drops it, which must happen before the process ends.
    threads.shutdown_timeout(LAST_TASKS);
    result
}
