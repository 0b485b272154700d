//! Reads the keyboard of a Unix terminal through `poll`, without processor time while it waits. It
//! distinguishes silence, hang-up and the end of the question.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::fd::AsFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    },
};
use tokio::{sync::mpsc, time::Instant};

use super::{Heard, MAX_WAITING, SILENCE};

/// More than a person types at once; the next read gets the rest.
const CHUNK: usize = 4096;

/// The terminal in a mode in which single keys arrive without echo. Dropping it restores the
/// terminal.
#[derive(Debug)]
pub(in super::super) struct Keyboard {
    before: Termios,
}

/// A keyboard that is read.
#[derive(Debug)]
pub(in super::super) struct Listening {
    heard: mpsc::Receiver<Heard>,
    /// Whether keys may be taken. Locked meanwhile, so that none is taken from the next reader.
    is_open: Arc<Mutex<bool>>,
    /// Dropping it wakes the thread.
    _wake: PipeWriter,
    /// Dropped last, so that no key is read after the terminal is restored.
    _keyboard: Keyboard,
}

impl Keyboard {
    /// Takes the terminal, and the input that was typed ahead, as one line.
    pub(in super::super) fn take() -> io::Result<(Self, String)> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut by_key = before.clone();
        // Output stays unchanged: a line break returns to the beginning of the line.
        by_key.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        by_key.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IXON;
        by_key.special_codes[SpecialCodeIndex::VMIN] = 1;
        by_key.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &by_key)?;
        let keyboard = Self { before };
        let mut ahead = Vec::new();
        while has_keys(&stdin)? && read(&stdin, &mut ahead)? {}
        Ok((keyboard, line_of(&String::from_utf8_lossy(&ahead))))
    }

    /// Reads in a thread that ends with the returned value.
    pub(in super::super) fn listen(self) -> io::Result<Listening> {
        let (wakes, wake) = io::pipe()?;
        let (events, heard) = mpsc::channel(MAX_WAITING);
        let is_open = Arc::new(Mutex::new(true));
        let may_read = is_open.clone();
        thread::Builder::new().name("keys".to_owned()).spawn(move || {
            match hear(&io::stdin(), &wakes, &may_read, &events) {
                Ok(()) => tracing::debug!("no more keys are read"),
                Err(error) => tracing::warn!(%error, "failed to read the keyboard"),
            }
        })?;
        Ok(Listening { heard, is_open, _wake: wake, _keyboard: self })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
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
        // The thread locks it only while input is ready, so the wait is short.
        *lock(&self.is_open) = false;
    }
}

/// Turns input that was typed ahead into one editable line. Cursor keys are not text, and the text
/// between them is not what the person saw.
fn line_of(ahead: &str) -> String {
    if ahead.contains('\u{1b}') {
        return String::new();
    }
    let words = ahead.split(|letter: char| letter.is_control()).filter(|part| !part.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    // A single letter was meant as an answer.
    if line.chars().nth(1).is_some() { line } else { String::new() }
}

/// Reads until the question ends or the terminal is gone.
fn hear(
    keys: &impl AsFd,
    wakes: &PipeReader,
    is_open: &Mutex<bool>,
    events: &mpsc::Sender<Heard>,
) -> io::Result<()> {
    let silence = Timespec::try_from(SILENCE).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    let mut was_silent = false;
    loop {
        let mut both = [PollFd::new(keys, PollFlags::IN), PollFd::new(wakes, PollFlags::IN)];
        match poll(&mut both, (!was_silent).then_some(&silence)) {
            Ok(0) => {
                was_silent = true;
                if events.blocking_send(Heard::Silence { at: Instant::now() }).is_err() {
                    return Ok(());
                }
                continue;
            }
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        {
            let is_open = lock(is_open);
            // Checked again under the lock: another reader may have taken the input.
            if !*is_open || !has_keys(keys)? {
                if *is_open {
                    continue;
                }
                return Ok(());
            }
            if !read(keys, &mut bytes)? {
                return Ok(());
            }
        }
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            // The rest of the letter follows.
            Err(error) if error.error_len().is_none() && bytes.len() < 4 => continue,
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        bytes.clear();
        if events.blocking_send(Heard::Typed { text, at: Instant::now(), was_silent }).is_err() {
            return Ok(());
        }
        was_silent = false;
    }
}

fn lock(is_open: &Mutex<bool>) -> MutexGuard<'_, bool> {
    is_open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells whether input, or its end, can be read without waiting.
fn has_keys(keys: &impl AsFd) -> io::Result<bool> {
    loop {
        let mut polled = [PollFd::new(keys, PollFlags::IN)];
        match poll(&mut polled, Some(&Timespec::default())) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads the available bytes; `false` at the end.
fn read(keys: &impl AsFd, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; CHUNK];
    loop {
        // Not through the standard library's buffer, which would hide the rest from the prompt.
        match rustix::io::read(keys, &mut chunk) {
            Ok(0) => return Ok(false),
            Ok(count) => {
                bytes.extend_from_slice(&chunk[..count]);
                return Ok(true);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex, mpsc as blocking},
        time::Duration,
    };

    use super::*;

    #[test]
    fn an_end_of_the_keys_ends_the_thread_that_hears_them() {
        let (keys, mut typing) = io::pipe().unwrap();
        let (wakes, _wake) = io::pipe().unwrap();
        typing.write_all(b"y").unwrap();
        drop(typing);
        // Room for all events, so that the thread never waits.
        let (events, mut heard) = mpsc::channel(MAX_WAITING);
        let (ended, end) = blocking::channel();
        thread::spawn(move || {
            let is_open = Arc::new(Mutex::new(true));
            let _ = ended.send(hear(&keys, &wakes, &is_open, &events));
        });
        end.recv_timeout(Duration::from_secs(30)).expect("it ends").unwrap();
        let Ok(Heard::Typed { text, was_silent: false, .. }) = heard.try_recv() else {
            panic!("a key was pressed")
        };
        assert_eq!((&*text, heard.try_recv().ok()), ("y", None));
    }

    #[test]
    fn what_was_typed_ahead_is_one_line_of_text() {
        assert_eq!(line_of("and then\nplan my day\n"), "and then plan my day");
        assert_eq!(line_of("\n\u{7}"), "");
        assert_eq!(line_of("y\u{1b}[Az"), "");
        assert_eq!((line_of("y\n"), line_of("ㅛ")), (String::new(), String::new()));
    }
}
