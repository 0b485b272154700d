//! Bold, faint and red letters for a person, unless the environment says that no terminal sequences
//! are wanted.

use std::{env, ffi::OsStr, fmt::Display, sync::LazyLock};

use crossterm::style::Stylize as _;

/// Makes letters bold.
pub(crate) fn bold(text: &str) -> String {
    styled(text, |text| text.bold())
}

/// Makes letters faint.
pub(crate) fn dim(text: &str) -> String {
    styled(text, |text| text.dim())
}

/// Makes letters red.
pub(crate) fn red(text: &str) -> String {
    styled(text, |text| text.red())
}

fn styled<'a, S: Display>(text: &'a str, style: impl Fn(&'a str) -> S) -> String {
    if *IS_PLAIN { text.to_owned() } else { style(text).to_string() }
}

/// Whether letters stay plain. The library would leave out the colours alone, and a reader that
/// asks for none has no use for the rest either.
static IS_PLAIN: LazyLock<bool> =
    LazyLock::new(|| is_plain(env::var_os("NO_COLOR").as_deref(), env::var_os("TERM").as_deref()));

fn is_plain(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_some_and(|value| !value.is_empty()) || term.is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_plain_where_no_colour_is_wanted_or_the_terminal_knows_none() {
        let plain = |no_color: Option<&str>, term: Option<&str>| {
            is_plain(no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert!(plain(Some("1"), Some("xterm")) && plain(None, Some("dumb")));
        assert!(!plain(None, Some("xterm")) && !plain(Some(""), None));
    }
}
