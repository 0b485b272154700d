//! Asks a person at a terminal: reads the keyboard while a question is open, and decides which keys
//! count.
//!
//! - `keyboard` reads single keys and the silences between them in a thread, and restores the
//!   terminal when dropped.
//! - `pause` decides which silences count, since a slow terminal may still draw the question.
//! - `attention` decides which keys are an answer. Pure, without a clock.
//!
//! ```text
//! keyboard --Heard--> pause --counts or not--> attention --Step--> Asking::pressed --Pressed--> talk
//! ```
//!
//! Invariants:
//! - An answer is a key after the whole question was shown and a silence followed. So no key that
//!   was typed ahead, and no pasted text, approves a call.
//! - "Always" needs a second key, after its meaning was shown.
//! - Ctrl-C interrupts at any time.

mod attention;
mod keyboard;
mod pause;

use madang::approval::ApprovalRequest;
use tokio::time::{Instant, sleep_until};

use attention::{Attention, Step};
pub(super) use attention::{Key, Part};
use keyboard::{Heard, Keyboard, Listening};
use pause::Pause;

use super::screen::Screen;
use crate::failure::Failure;

/// An open question and the keyboard for its answer. Dropping it restores the terminal.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) request: Box<ApprovalRequest>,
    keyboard: Listening,
    attention: Attention,
    pause: Pause,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// An answer.
    Key(Key),
    /// No answer; this part is to be shown.
    Show(Part),
    /// No key can follow: the terminal is gone or cannot be read.
    Closed,
}

impl Asking {
    /// Shows the question with `show` and reads from then on. Earlier input goes to the screen,
    /// which keeps it for the prompt; it is no answer. `None` if the keyboard cannot be read.
    pub(super) fn begin(
        request: Box<ApprovalRequest>,
        screen: &mut dyn Screen,
        show: impl FnOnce(&mut dyn Screen) -> Result<(), Failure>,
    ) -> Result<Option<Self>, Failure> {
        let keyboard = match Keyboard::take() {
            Ok((keyboard, ahead)) => {
                screen.typed_ahead(ahead);
                Some(keyboard)
            }
            Err(error) => {
                tracing::error!(%error, "failed to read the keyboard");
                None
            }
        };
        show(screen)?;
        let Some(keyboard) = keyboard else { return Ok(None) };
        let pause = Pause::shown(Instant::now());
        let listening = match keyboard.listen() {
            Ok(listening) => listening,
            Err(error) => {
                tracing::error!(%error, "failed to start reading the keyboard");
                return Ok(None);
            }
        };
        let attention = Attention::to_a_question(screen.has_more());
        Ok(Some(Self { request, keyboard: listening, attention, pause }))
    }

    /// Waits for a key with a meaning. Dropping the future loses nothing.
    pub(super) async fn pressed(&mut self) -> Pressed {
        loop {
            let due = self.pause.due;
            let heard = tokio::select! {
                heard = self.keyboard.next() => heard,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    Some(Heard::Silence { at: Instant::now() })
                }
            };
            let step = match heard {
                Some(Heard::Silence { at }) if self.pause.silence(at) => self.attention.silence(),
                Some(Heard::Silence { .. }) => Step::Nothing,
                Some(Heard::Typed { text, at, was_silent }) => {
                    self.attention.typed(&text, self.pause.key(at, was_silent))
                }
                None => return Pressed::Closed,
            };
            match step {
                Step::Nothing => {}
                Step::Show(part) => return Pressed::Show(part),
                Step::Answer(key) => return Pressed::Key(key),
            }
        }
    }

    /// Releases the keyboard.
    pub(super) fn end(self) -> Box<ApprovalRequest> {
        self.request
    }

    /// Notes that a page of the question was shown.
    pub(super) fn shown(&mut self, has_more: bool) {
        self.pause = Pause::shown(Instant::now());
        self.attention.shown(has_more);
    }
}
