//! Runs the prompt in a thread of its own: line editing with history.

use std::{cell::RefCell, sync::mpsc as threads, thread};

use rustyline::{
    Config, Context, Editor as Rustyline, Helper,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::{History, MemHistory},
    validate::Validator,
};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// The text of the prompt.
const PROMPT: &str = "> ";

/// The input at the prompt.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C, with what stood in the line.
    Stopped(String),
    /// Ctrl-D, or the terminal is gone.
    Leave,
}

/// The prompt of a terminal. Dropped while a line is typed, it restores the terminal itself,
/// because the prompt's thread cannot be interrupted.
#[derive(Debug)]
pub(super) struct Editor {
    wanted: threads::Sender<Wanted>,
    typed: mpsc::Receiver<Result<Typed, ReadlineError>>,
    mode: mode::Mode,
    is_open: bool,
    /// Input that was typed before the prompt.
    ahead: String,
}

/// A request for a line.
#[derive(Debug)]
struct Wanted {
    /// The prompt; `None` for a turn, which enters the history.
    prompt: Option<String>,
    /// The text to edit.
    initial: String,
}

impl Editor {
    /// Creates a prompt with this history, the oldest line first. The history stays in memory,
    /// since the session stores its texts.
    pub(super) fn new(history: Vec<String>) -> Result<Self, Failure> {
        let mut editors = Editors { turns: rustyline()?, answers: rustyline()? };
        for line in history {
            editors.turns.history_mut().add_owned(line).map_err(unusable)?;
        }
        let (wanted, waiting) = threads::channel();
        let (lines, typed) = mpsc::channel(1);
        let prompt = move || {
            while let Ok(wanted) = waiting.recv() {
                if lines.blocking_send(editors.read(&wanted)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("prompt".to_owned())
            .spawn(prompt)
            .map_err(|cause| unusable(cause.into()))?;
        Ok(Self { wanted, typed, mode: mode::Mode::of_now(), is_open: false, ahead: String::new() })
    }

    /// Waits for the text of a turn. Dropping the future leaves the prompt open, and then the
    /// editor can only be dropped.
    pub(super) async fn line(&mut self) -> Result<Typed, Failure> {
        let initial = std::mem::take(&mut self.ahead);
        self.read(Wanted { prompt: None, initial }).await
    }

    /// Puts this text at the beginning of the next turn.
    pub(super) fn typed_ahead(&mut self, text: &str) {
        if !self.ahead.is_empty() && !text.is_empty() {
            self.ahead.push(' ');
        }
        self.ahead.push_str(text);
    }

    /// Lets the next turn begin with this text alone.
    pub(super) fn goes_on_with(&mut self, text: String) {
        self.ahead = text;
    }

    /// Waits for a line that begins with `initial`. Dropping the future has the same effect as with
    /// [`Editor::line`].
    pub(super) async fn ask(&mut self, prompt: String, initial: String) -> Result<Typed, Failure> {
        self.read(Wanted { prompt: Some(prompt), initial }).await
    }

    async fn read(&mut self, wanted: Wanted) -> Result<Typed, Failure> {
        if self.wanted.send(wanted).is_err() {
            return Ok(Typed::Leave);
        }
        self.is_open = true;
        let typed = self.typed.recv().await;
        self.is_open = false;
        match typed {
            Some(Ok(typed)) => Ok(typed),
            Some(Err(error)) if !mode::is_gone() => Err(unusable(error)),
            // A lost terminal counts as leaving.
            Some(Err(_)) | None => Ok(Typed::Leave),
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.is_open {
            self.mode.restore();
        }
    }
}

type LineEditor = Rustyline<Draft, MemHistory>;

/// The editors of turns and of answers. Each keeps what came behind a line of its own: lines that
/// were pasted as turns must not answer a question.
struct Editors {
    turns: LineEditor,
    answers: LineEditor,
}

impl Editors {
    fn read(&mut self, wanted: &Wanted) -> Result<Typed, ReadlineError> {
        let Wanted { prompt, initial } = wanted;
        let (editor, shown) = match prompt {
            Some(prompt) => (&mut self.answers, prompt.as_str()),
            None => (&mut self.turns, PROMPT),
        };
        if let Some(Draft(line)) = editor.helper() {
            line.replace(initial.clone());
        }
        match editor.readline_with_initial(shown, (initial, "")) {
            Ok(line) => {
                if prompt.is_none() {
                    editor.add_history_entry(&line)?;
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => {
                let draft = editor.helper().map(|Draft(line)| line.take());
                Ok(Typed::Stopped(draft.unwrap_or_default()))
            }
            Err(ReadlineError::Eof) => Ok(Typed::Leave),
            Err(error) => Err(error),
        }
    }
}

fn rustyline() -> Result<LineEditor, Failure> {
    let config = Config::builder().auto_add_history(false).build();
    let past = MemHistory::with_config(&config);
    let mut editor = Rustyline::with_history(config, past).map_err(unusable)?;
    editor.set_helper(Some(Draft::default()));
    Ok(editor)
}

/// The text of the line, which the editor does not return when Ctrl-C ends it. The editor asks for
/// a hint behind each key.
#[derive(Debug, Default)]
struct Draft(RefCell<String>);

impl Hinter for Draft {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        line.clone_into(&mut self.0.borrow_mut());
        None
    }
}

impl Completer for Draft {
    type Candidate = String;
}

impl Highlighter for Draft {}
impl Validator for Draft {}
impl Helper for Draft {}

fn unusable(cause: ReadlineError) -> Failure {
    Failure::because(
        "failed to read from the terminal: try again, or give the turns on standard input",
        cause,
    )
}

/// The mode of a terminal.
#[cfg(unix)]
mod mode {
    use std::io;

    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

    #[derive(Debug)]
    pub(super) struct Mode(Option<Termios>);

    /// Tells whether the terminal is gone.
    pub(super) fn is_gone() -> bool {
        tcgetattr(io::stdin()).is_err()
    }

    impl Mode {
        pub(super) fn of_now() -> Self {
            Self(tcgetattr(io::stdin()).ok())
        }

        /// Restores the mode without waiting: a terminal that takes no output must not delay the
        /// end of the program.
        pub(super) fn restore(&self) {
            let Some(mode) = &self.0 else { return };
            if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, mode) {
                tracing::debug!(%error, "failed to give the terminal back as it was");
            }
        }
    }
}

#[cfg(not(unix))]
mod mode {
    #[derive(Debug)]
    pub(super) struct Mode;

    /// Returns `false`: the console ends its programs itself.
    pub(super) fn is_gone() -> bool {
        false
    }

    impl Mode {
        pub(super) fn of_now() -> Self {
            Self
        }

        /// Does nothing: the console restores itself.
        pub(super) fn restore(&self) {}
    }
}
