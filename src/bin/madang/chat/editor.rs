//! The prompt: line editing with history, in a thread of its own.

use std::{
    process::{Command, Stdio},
    sync::mpsc as threads,
    thread,
};

use rustyline::{
    Config, Editor as Rustyline,
    error::ReadlineError,
    history::{History, MemHistory},
};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// What stands before what a person types.
const PROMPT: &str = "> ";

/// What a person did at the prompt.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C or Ctrl-D.
    Leave,
}

/// The prompt of a terminal.
#[derive(Debug)]
pub(super) struct Editor {
    wanted: threads::Sender<()>,
    typed: mpsc::Receiver<Result<Typed, ReadlineError>>,
    mode: Option<String>,
}

impl Editor {
    /// A prompt that remembers these lines, the oldest first. The history stays in memory: the session itself keeps it.
    pub(super) fn new(history: Vec<String>) -> Result<Self, Failure> {
        let config = Config::builder().auto_add_history(true).build();
        let past = MemHistory::with_config(&config);
        let mut editor: Rustyline<(), MemHistory> =
            Rustyline::with_history(config, past).map_err(unusable)?;
        for line in history {
            editor.history_mut().add_owned(line).map_err(unusable)?;
        }
        let (wanted, waiting) = threads::channel();
        let (lines, typed) = mpsc::channel(1);
        let prompt = move || {
            while waiting.recv().is_ok() {
                let typed = match editor.readline(PROMPT) {
                    Ok(line) => Ok(Typed::Line(line)),
                    Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(Typed::Leave),
                    Err(error) => Err(error),
                };
                if lines.blocking_send(typed).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("prompt".to_owned())
            .spawn(prompt)
            .map_err(|cause| unusable(cause.into()))?;
        Ok(Self { wanted, typed, mode: mode() })
    }

    /// Waits for a line. Where the future is dropped the prompt stays open: only [`Editor::abandon`] may follow.
    pub(super) async fn line(&mut self) -> Result<Typed, Failure> {
        if self.wanted.send(()).is_err() {
            return Ok(Typed::Leave);
        }
        match self.typed.recv().await {
            Some(typed) => typed.map_err(unusable),
            None => Ok(Typed::Leave),
        }
    }

    /// Gives the terminal back as it was although a line is still being typed: nobody can take the prompt's thread out
    /// of its reading.
    pub(super) fn abandon(self) {
        let Some(mode) = self.mode else { return };
        if let Err(error) = Command::new("stty").arg(mode).stdin(Stdio::inherit()).status() {
            tracing::warn!(%error, "failed to give the terminal back as it was");
        }
    }
}

/// How the terminal stands now, in the words of `stty`.
fn mode() -> Option<String> {
    let said = Command::new("stty").arg("-g").stdin(Stdio::inherit()).output().ok()?;
    let mode = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| mode.trim().to_owned())
}

fn unusable(cause: ReadlineError) -> Failure {
    Failure::because(
        "failed to read from the terminal: try again, or give the turns on standard input",
        cause,
    )
}
