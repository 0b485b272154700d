//! What the driver knows, apart from the store: what it was told of each call, and to what it said yes.

use std::collections::BTreeSet;

/// The driver's own oracle. Each entry is a line, so that the oracle of a child outlives it.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) told: Vec<Told>,
    pub(crate) yes: BTreeSet<String>,
}

/// What the driver was told came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// What the call was to write.
    pub(crate) token: String,
    /// `ok`, `refused` or `discarded`.
    pub(crate) status: String,
    /// `none`, `committed` or `unknown`.
    pub(crate) effect: String,
}

impl Oracle {
    /// The line of a yes.
    pub(crate) fn yes(token: &str) -> String {
        format!("yes {token}")
    }

    /// The line of an end.
    pub(crate) fn told(token: &str, status: &str, effect: &str) -> String {
        format!("told {token} {status} {effect}")
    }

    /// Enters a line.
    pub(crate) fn read(&mut self, line: &str) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["yes", token] => drop(self.yes.insert(token.to_owned())),
            ["told", token, status, effect] => self.told.push(Told {
                token: token.to_owned(),
                status: status.to_owned(),
                effect: effect.to_owned(),
            }),
            _ => panic!("not a line of the oracle: {line}"),
        }
    }
}
