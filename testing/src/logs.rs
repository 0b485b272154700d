//! Keeps what a test logs on its own thread.

use std::{
    io,
    sync::{Arc, Mutex, Once, PoisonError},
};

use tracing::{Level, Subscriber, subscriber::DefaultGuard};

/// Keeps what this thread logs as text, until it is dropped.
///
/// In a test on one thread (`#[tokio::test]`), all tasks log on the thread of the test. What
/// threads of a pool log is not kept.
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
    /// Begins to keep all entries at `level` or above, each as a line with level, target, message
    /// and fields.
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

    /// Returns the lines so far.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.text.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Sends what this thread logs to a subscriber, until the guard is dropped.
///
/// The first call sets a global subscriber, which keeps nothing, unless the test has set one.
/// `tracing` asks each place that logs only once which subscribers want its entries. While there is
/// only one subscriber, it asks the thread that comes by first. So without a global one, another
/// test's thread would answer "none" for all.
pub fn listen(subscriber: impl Subscriber + Send + Sync) -> DefaultGuard {
    static EVERYWHERE: Once = Once::new();
    EVERYWHERE.call_once(|| {
        // An error means that there is a global subscriber already, which is as good.
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
