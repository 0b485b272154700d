//! One key as the answer to a question, without a line break.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crossterm::{
    event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    terminal,
};
use tokio::sync::oneshot;

/// So often the thread looks whether the question is still open.
const GLANCE: Duration = Duration::from_millis(50);

/// What a key means while a question is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Yes,
    /// Yes, and ask no more about this tool in this chat.
    Always,
    No,
    /// No, with a line to the model.
    Message,
    /// Yes, with other arguments.
    Edit,
    /// Ctrl-C or Ctrl-D.
    Interrupt,
}

/// The keyboard, from the question until its end. Dropped, it gives the terminal back as it was.
#[derive(Debug)]
pub(super) struct Keys {
    key: oneshot::Receiver<Key>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Listens from its end on: show the question then. Keys that were pressed before are no answer to it. Line breaks
    /// must be `\r\n` meanwhile.
    pub(super) async fn listen() -> Self {
        let (answer, key) = oneshot::channel();
        let (is_ready, ready) = oneshot::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = thread::Builder::new().name("keys".to_owned()).spawn(move || {
            let pressed = read_key(is_ready, &ends);
            match pressed {
                Ok(Some(key)) => drop(answer.send(key)), // a question that has ended needs no key
                Ok(None) => {}
                Err(error) => tracing::error!(%error, "failed to read the keyboard"),
            }
        });
        if let Err(error) = &thread {
            tracing::error!(%error, "failed to start reading the keyboard");
        }
        drop(ready.await); // where it never gets ready no key will come, which is what the person is told
        Self { key, is_over, thread: thread.ok() }
    }

    /// Waits for a key that means something; `None` if the keyboard cannot be read. Dropping the future loses nothing.
    pub(super) async fn pressed(&mut self) -> Option<Key> {
        (&mut self.key).await.ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("reading the keyboard panicked");
        }
    }
}

fn read_key(is_ready: oneshot::Sender<()>, is_over: &AtomicBool) -> io::Result<Option<Key>> {
    let _raw = Raw::enter()?;
    while event::poll(Duration::ZERO)? {
        event::read()?;
    }
    if is_ready.send(()).is_err() {
        return Ok(None);
    }
    while !is_over.load(Ordering::Acquire) {
        if event::poll(GLANCE)?
            && let Event::Key(event) = event::read()?
            && let Some(key) = meaning(&event)
        {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// What a key means. The letters on the same keys of a Korean keyboard count too: nobody should have to switch first.
fn meaning(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    let KeyCode::Char(letter) = event.code else { return None };
    match letter {
        'c' | 'd' if has_control => Some(Key::Interrupt),
        'y' | 'Y' | 'ㅛ' if !has_control => Some(Key::Yes),
        'a' | 'A' | 'ㅁ' if !has_control => Some(Key::Always),
        'n' | 'N' | 'ㅜ' if !has_control => Some(Key::No),
        'm' | 'M' | 'ㅡ' if !has_control => Some(Key::Message),
        'e' | 'E' | 'ㄷ' | 'ㄸ' if !has_control => Some(Key::Edit),
        _ => None,
    }
}

/// Keys arrive one by one and are not echoed, until it is dropped.
struct Raw;

impl Raw {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        Ok(Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Err(error) = terminal::disable_raw_mode() {
            tracing::error!(%error, "failed to give the terminal back as it was");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_that_the_question_names_are_an_answer() {
        let key = |code, modifiers| meaning(&KeyEvent::new(code, modifiers));
        let plain = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('y'), plain), Some(Key::Yes));
        assert_eq!(key(KeyCode::Char('ㅛ'), plain), Some(Key::Yes));
        assert_eq!(key(KeyCode::Char('N'), KeyModifiers::SHIFT), Some(Key::No));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        for (letters, meant) in [("aAㅁ", Key::Always), ("mMㅡ", Key::Message), ("eEㄷ", Key::Edit)]
        {
            for letter in letters.chars() {
                assert_eq!(key(KeyCode::Char(letter), plain), Some(meant), "{letter}");
                assert_eq!(key(KeyCode::Char(letter), KeyModifiers::CONTROL), None, "{letter}");
            }
        }
        for code in [KeyCode::Enter, KeyCode::Esc, KeyCode::Char(' '), KeyCode::Char('c')] {
            assert_eq!(key(code, plain), None);
        }
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::CONTROL), None);
    }
}
