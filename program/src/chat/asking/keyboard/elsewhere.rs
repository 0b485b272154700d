//! Reads the keyboard of a console that is no Unix terminal.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crossterm::{
    event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    terminal,
};
use tokio::{sync::mpsc, time::Instant};

use super::{Heard, MAX_WAITING, SILENCE};

/// The time between two looks at whether the question is still open.
const GLANCE: Duration = Duration::from_millis(50);

/// The console in a mode in which single keys arrive without echo. Dropping it restores the
/// console.
#[derive(Debug)]
pub(in super::super) struct Keyboard(());

/// A keyboard that is read.
#[derive(Debug)]
pub(in super::super) struct Listening {
    heard: mpsc::Receiver<Heard>,
    is_over: Arc<AtomicBool>,
    _keyboard: Keyboard,
}

impl Keyboard {
    /// Takes the console. Input that was typed ahead is dropped.
    pub(in super::super) fn take() -> io::Result<(Self, String)> {
        terminal::enable_raw_mode()?;
        let keyboard = Self(());
        while event::poll(Duration::ZERO)? {
            event::read()?;
        }
        Ok((keyboard, String::new()))
    }

    /// Reads in a thread that ends soon after the returned value.
    pub(in super::super) fn listen(self) -> io::Result<Listening> {
        let (events, heard) = mpsc::channel(MAX_WAITING);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        thread::Builder::new().name("keys".to_owned()).spawn(move || {
            if let Err(error) = hear(&events, &ends) {
                tracing::warn!(%error, "failed to read the keyboard");
            }
        })?;
        Ok(Listening { heard, is_over, _keyboard: self })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Err(error) = terminal::disable_raw_mode() {
            tracing::debug!(%error, "failed to give the terminal back as it was");
        }
    }
}

impl Listening {
    /// Waits for the next event; `None` if none can follow. Dropping the future loses nothing.
    pub(in super::super) async fn next(&mut self) -> Option<Heard> {
        self.heard.recv().await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

fn hear(events: &mpsc::Sender<Heard>, is_over: &AtomicBool) -> io::Result<()> {
    let mut silent_for = Duration::ZERO;
    while !is_over.load(Ordering::Acquire) {
        let was_silent = silent_for >= SILENCE;
        let heard = if !event::poll(GLANCE)? {
            silent_for += GLANCE;
            if was_silent || silent_for < SILENCE {
                continue;
            }
            Heard::Silence { at: Instant::now() }
        } else if let Event::Key(event) = event::read()?
            && let Some(letter) = letter(&event)
        {
            silent_for = Duration::ZERO;
            Heard::Typed { text: letter.to_string(), at: Instant::now(), was_silent }
        } else {
            continue;
        };
        if events.blocking_send(heard).is_err() {
            break;
        }
    }
    Ok(())
}

/// Returns the letter that a terminal would send.
fn letter(event: &KeyEvent) -> Option<char> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Char('c') if has_control => Some('\u{3}'),
        KeyCode::Char('d') if has_control => Some('\u{4}'),
        KeyCode::Char(letter) if !has_control => Some(letter),
        KeyCode::Enter => Some('\r'),
        _ => Some('\u{1b}'),
    }
}
