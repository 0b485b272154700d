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

/// The prompt of a terminal. Dropped while a line is being typed, it gives the terminal back as it was: nobody can take
/// the prompt's thread out of its reading.
#[derive(Debug)]
pub(super) struct Editor {
    wanted: threads::Sender<Wanted>,
    typed: mpsc::Receiver<Result<Typed, ReadlineError>>,
    mode: Option<String>,
    is_open: bool,
}

/// A line that is asked for.
#[derive(Debug)]
enum Wanted {
    /// A turn: it is remembered.
    Turn,
    /// Something else: what stands before it, and what is there to be changed.
    Other { prompt: String, initial: String },
}

impl Editor {
    /// A prompt that remembers these lines, the oldest first. The history stays in memory: the session itself keeps it.
    pub(super) fn new(history: Vec<String>) -> Result<Self, Failure> {
        let config = Config::builder().auto_add_history(false).build();
        let past = MemHistory::with_config(&config);
        let mut editor: Rustyline<(), MemHistory> =
            Rustyline::with_history(config, past).map_err(unusable)?;
        for line in history {
            editor.history_mut().add_owned(line).map_err(unusable)?;
        }
        let (wanted, waiting) = threads::channel();
        let (lines, typed) = mpsc::channel(1);
        let prompt = move || {
            while let Ok(wanted) = waiting.recv() {
                let typed = match read(&mut editor, &wanted) {
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
        Ok(Self { wanted, typed, mode: mode(), is_open: false })
    }

    /// Waits for the text of a turn. Where the future is dropped the prompt stays open, and nothing but dropping it may
    /// follow.
    pub(super) async fn line(&mut self) -> Result<Typed, Failure> {
        self.read(Wanted::Turn).await
    }

    /// Waits for a line that begins as `initial`. Dropping the future is as with [`Editor::line`].
    pub(super) async fn ask(&mut self, prompt: String, initial: String) -> Result<Typed, Failure> {
        self.read(Wanted::Other { prompt, initial }).await
    }

    async fn read(&mut self, wanted: Wanted) -> Result<Typed, Failure> {
        if self.wanted.send(wanted).is_err() {
            return Ok(Typed::Leave);
        }
        self.is_open = true;
        let typed = self.typed.recv().await;
        self.is_open = false;
        typed.map_or(Ok(Typed::Leave), |typed| typed.map_err(unusable))
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let Some(mode) = self.mode.as_ref().filter(|_| self.is_open) else { return };
        if let Err(error) = Command::new("stty").arg(mode).stdin(Stdio::inherit()).status() {
            tracing::warn!(%error, "failed to give the terminal back as it was");
        }
    }
}

fn read(editor: &mut Rustyline<(), MemHistory>, wanted: &Wanted) -> Result<String, ReadlineError> {
    match wanted {
        Wanted::Turn => {
            let line = editor.readline(PROMPT)?;
            editor.add_history_entry(&line)?;
            Ok(line)
        }
        Wanted::Other { prompt, initial } => editor.readline_with_initial(prompt, (initial, "")),
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
