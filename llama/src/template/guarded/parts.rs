//! The parts of a rewritten template: names, texts and lists.

use minijinja::{Error, ErrorKind};

/// A part of the rewritten source.
pub(super) type Written = Result<String, Error>;

pub(super) fn optional<T>(part: Option<T>, write: impl FnOnce(T) -> Written) -> Written {
    part.map_or(Ok(String::new()), write)
}

pub(super) fn joined(all: impl Iterator<Item = Written>, between: &str) -> Written {
    Ok(all.collect::<Result<Vec<_>, _>>()?.join(between))
}

/// Refuses the names of the guard.
pub(super) fn free_name(name: &str) -> Written {
    if name.starts_with("madang_") {
        return Err(refused("uses a name that is not its own"));
    }
    Ok(name.to_owned())
}

pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

pub(super) fn refused(why: &str) -> Error {
    Error::new(ErrorKind::SyntaxError, format!("the template {why}"))
}
