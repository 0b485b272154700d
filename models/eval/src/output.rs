//! Prints reports and failures. Texts of models, tools and files are made harmless for a terminal.

use std::{
    borrow::Cow,
    error::Error,
    fmt::Display,
    io::{self, ErrorKind, Write as _},
    process::ExitCode,
};

use madang::event::is_visible;
use serde::Serialize;

use crate::failure::Failure;

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let printed = writeln!(out, "{}", harmless(text)).and_then(|()| out.flush());
    printed.map_err(|cause| match cause.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::because(
            "failed to write the output: check that its place is not full or closed",
            cause,
        ),
    })
}

/// Prints a report: rows for a person, or JSON.
pub(crate) fn rows_or_json(
    report: &(impl Display + Serialize),
    is_json: bool,
) -> Result<(), Failure> {
    if !is_json {
        return line(report.to_string().trim_end());
    }
    let json = serde_json::to_string(report);
    line(&json.map_err(|cause| Failure::because("failed to print the report", cause))?)
}

/// Prints a line on standard error that is no complaint.
pub(crate) fn notice(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
}

/// Prints the end of the program on standard error, in one line, and returns the exit code.
pub(crate) fn failure(failure: &Failure) -> ExitCode {
    let Failure::Explained { sentence, cause } = failure else { return ExitCode::SUCCESS };
    let mut words = sentence.clone();
    let mut cause = cause.as_deref().map(|cause| cause as &dyn Error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words} ({more})");
        }
        cause = error.source();
    }
    // Without standard error no reader is left.
    let _ = writeln!(io::stderr().lock(), "eval: {}", harmless(&words));
    ExitCode::FAILURE
}

/// Replaces what a terminal obeys or hides by codes that a reader of JSON takes back. Line breaks,
/// tabs and spaces stay.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let write = |letter: char| {
        if !is_hidden(letter) {
            return letter.to_string();
        }
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    Cow::Owned(text.chars().map(write).collect())
}

fn is_hidden(letter: char) -> bool {
    !matches!(letter, '\n' | '\t' | ' ') && !is_visible(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text_and_json_stays_what_it_was() {
        assert_eq!(harmless("습관\n\t✅ done"), "습관\n\t✅ done");
        let text = "a\u{7f}\u{9b}\u{202e}\u{e0041}c";
        let json = serde_json::to_string(text).unwrap();
        let shown = harmless(&json);
        assert_eq!(shown, r#""a\u007f\u009b\u202e\udb40\udc41c""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
