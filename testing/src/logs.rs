//! Keeps what a test logs on its own thread.

use std::{
    io,
    sync::{Arc, Mutex, Once, PoisonError},
};

use tracing::{Level, Subscriber, subscriber::DefaultGuard};

/// Keeps as text what this thread logs until it is dropped.
///
/// A test on one thread (`#[tokio::test]`) logs on its own thread all that its tasks log, but not what threads of a
/// pool log.
///
/// ```
/// let logs = madang_testing::Logs::keep(tracing::Level::INFO);
/// tracing::info!(count = 2, "opened");
/// tracing::debug!("this is left out");
/// assert!(logs.text().ends_with("opened count=2\n"));
/// ```
#[derive(Debug)]
pub struct Logs {
    text: Text,
    _listening: DefaultGuard,
}

impl Logs {
    /// Begins to keep all entries at `level` or louder: one line each, with level, target, message and fields.
    #[must_use]
    pub fn keep(level: Level) -> Self {
        let text = Text::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        Self { text, _listening: listen(subscriber) }
    }

    /// Gives the lines kept so far.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.text.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Lets a subscriber hear what this thread logs, until the guard is dropped.
///
/// The first call sets a global subscriber, which keeps nothing, unless the test has set one. `tracing` asks each place
/// that logs only once which subscribers hear it. While only one subscriber lives, it asks the thread that comes by
/// first: without a global one, another test's thread would answer "none" for all.
pub fn listen(subscriber: impl Subscriber + Send + Sync) -> DefaultGuard {
    static EVERYWHERE: Once = Once::new();
    EVERYWHERE.call_once(|| {
        // An error says that a global subscriber is there already, which does as well.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    });
    tracing::subscriber::set_default(subscriber)
}

#[derive(Debug, Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_logged_first_is_kept_when_this_one_logs_it() {
        let open = || tracing::info!("opened");
        let logs = Logs::keep(Level::INFO);
        std::thread::spawn(open).join().unwrap();
        assert_eq!(logs.text(), "", "another thread's entries are not of this one");
        open();
        assert!(logs.text().ends_with("opened\n"), "{:?}", logs.text());
    }
}
