//! The program `madang`.
//!
//! Each command is a module: `chat`, `call`, `tools`, `ledger` and `verify`, `forget`, `fetch`, `notes`, `stress`,
//! `bench_model`, `eval`, `serve`, `token`, `mcp` and `mcp_server`, and `engine`, the process in which a model runs.
//!
//! `args` parses the command line, `setup` opens the database and collects the tools, and `model` loads the model. The
//! command then builds a runtime by the public API of the library, as any application would.
//!
//! - A failure is one sentence that says what to do (`failure`), with its causes under `--verbose`.
//! - Texts of models, tools and files reach the terminal only through `output`, which makes them harmless (`printable`).
//! - A signal ends the program in order, and at the latest after 34 seconds (`signals`).

mod args;
mod bench_model;
mod beside;
mod bounded_input;
mod call;
mod chat;
mod engine;
mod eval;
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

/// Returns 0 if all turns or calls were processed, and 1 after a failure; clap ends wrong usage with 2.
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
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure, is_verbose || is_logging),
    }
}

/// Ends as the parser does where the options of a command do not go together.
fn wrong_usage(command: &str, sentence: String) -> ! {
    let mut all = Args::command();
    all.build();
    let command = all.find_subcommand_mut(command).expect("the parser has just found it");
    command.error(ErrorKind::ArgumentConflict, sentence).exit()
}

fn run(command: Command) -> Result<(), Failure> {
    if let Command::Tools(wanted) = command {
        return tools::run(&wanted);
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads
        .map_err(|cause| Failure::because("failed to start the program's threads", cause))?;
    let result = threads.block_on(async {
        match command {
            Command::Chat(wanted) => Box::pin(chat::run(wanted)).await,
            Command::Serve(wanted) => Box::pin(serve::run(*wanted)).await,
            Command::Tools(wanted) => tools::run(&wanted),
            Command::Mcp(wanted) => Box::pin(mcp::run(wanted)).await,
            Command::Token(wanted) => token::run(wanted),
            Command::Call(wanted) => Box::pin(call::run(wanted)).await,
            Command::Ledger(wanted) => ledger::run(wanted).await,
            Command::Forget(wanted) => Box::pin(forget::run(wanted)).await,
            Command::Fetch(wanted) => fetch::run(&wanted).await,
            Command::Notes(wanted) => notes::run(wanted).await,
            Command::Stress(wanted) => Box::pin(stress::run(wanted)).await,
            Command::BenchModel(wanted) => Box::pin(bench_model::run(wanted)).await,
            Command::Eval(wanted) => Box::pin(eval::run(wanted)).await,
            Command::Engine(wanted) => engine::run(wanted).await,
        }
    });
    // The last task that holds the model drops it, which must happen before the process ends.
    threads.shutdown_timeout(LAST_TASKS);
    result
}
