//! Prints to standard output and error without a panic when the reader has left.

use std::{
    error::Error,
    fmt::Display,
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use serde::Serialize;

use crate::{
    failure::Failure,
    printable::{printable, printable_json},
    style,
};

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    checked(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Prints a line with a foreign part: from a model, a database, a file or a hub.
pub(crate) fn foreign(text: &str) -> Result<(), Failure> {
    line(&printable_json(text))
}

/// Prints rows with foreign parts, laid out for a person.
pub(crate) fn report(text: &str) -> Result<(), Failure> {
    piece(&printable(text))
}

/// Prints a report: rows for a person, or JSON.
pub(crate) fn rows_or_json(
    report: &(impl Display + Serialize),
    is_json: bool,
) -> Result<(), Failure> {
    if !is_json {
        return self::report(&report.to_string());
    }
    let json = serde_json::to_string(report);
    foreign(&json.map_err(|cause| Failure::because("failed to print the report", cause))?)
}

/// Prints a piece of a line, at once.
pub(crate) fn piece(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    checked(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints a sentence on standard error.
pub(crate) fn complain(sentence: &str) {
    // Without standard error no reader is left.
    let _ = writeln!(io::stderr().lock(), "madang: {}", printable(sentence));
}

/// Prints the end of the program on standard error, with its causes if wanted, and returns the exit
/// code.
pub(crate) fn failure(failure: &Failure, with_causes: bool) -> ExitCode {
    let Failure::Explained { sentence, cause } = failure else { return ExitCode::SUCCESS };
    complain(sentence);
    let mut cause = cause.as_deref().map(|cause| cause as &dyn Error).filter(|_| with_causes);
    while let Some(error) = cause {
        let words = error.to_string();
        if words != *sentence {
            complain(&format!("because: {words}"));
        }
        cause = error.source();
    }
    ExitCode::FAILURE
}

/// Prints a line on standard error that is no complaint.
pub(crate) fn notice(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(text));
}

/// Prints a line on standard error in faint letters. The sequences around the harmless text are the
/// program's own.
pub(crate) fn faint_notice(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", style::dim(&printable(text)));
}

fn checked(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|cause| {
        if cause.kind() == ErrorKind::BrokenPipe || is_gone(&cause) {
            return Failure::OutputClosed;
        }
        Failure::because(
            "failed to write the output: check that its place is not full or closed",
            cause,
        )
    })
}

/// Tells whether the output was a terminal that has gone away.
#[cfg(unix)]
fn is_gone(cause: &io::Error) -> bool {
    use rustix::{io::Errno, termios::tcgetattr};

    Errno::from_io_error(cause) == Some(Errno::IO)
        && tcgetattr(io::stdout()).is_err_and(|error| error != Errno::NOTTY)
}

#[cfg(not(unix))]
fn is_gone(_: &io::Error) -> bool {
    false
}
