//! Writes the log to standard error. It contains texts of models, tools and files, none of which
//! may move the cursor.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;

use crate::printable::printable;

/// Reads what is to be logged. The library of MCP writes whole messages below `warn`: it does so
/// only where it is named.
pub(crate) fn filter(said: &str) -> EnvFilter {
    let filter = EnvFilter::builder().parse_lossy(said);
    if said.contains("rmcp") {
        return filter;
    }
    filter.add_directive("rmcp=warn".parse().expect("a target and a level are a directive"))
}

/// Writes each entry of the log, made harmless, to `W`.
#[derive(Debug)]
pub(crate) struct Log<W>(pub(crate) W);

impl<W: Write> Write for Log<W> {
    /// Writes an entry at once, so that no letter is cut.
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable(&String::from_utf8_lossy(entry)).as_bytes())?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Debug, Default, Clone)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn messages_of_mcp_are_logged_only_where_that_is_asked_for() {
        assert!(filter("debug").to_string().contains("rmcp=warn"));
        assert!(filter("info,rmcp=trace").to_string().contains("rmcp=trace"));
    }

    #[test]
    fn no_text_of_an_entry_moves_the_cursor_or_turns_the_line() {
        let written = Written::default();
        let writer = written.clone();
        let log =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || Log(writer.clone()));
        let hostile = "a\u{1b}[2J\u{9b}2J\u{202e}\rb\u{7}가";
        tracing::subscriber::with_default(log.finish(), || {
            tracing::error!(name = hostile, cause = ?hostile, shown = %hostile, "{hostile}");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(text.matches('가').count() == 4, "all of it is there: {text:?}");
        let is_obeyed =
            |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
        assert!(!text.contains(is_obeyed), "{text:?}");
    }
}
