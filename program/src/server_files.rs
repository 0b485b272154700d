//! The files that a server keeps beside its database.

use std::path::{Path, PathBuf};

use madang_server::TokenFileError;

use crate::failure::Failure;

/// The ending of the file of tokens.
pub(crate) const TOKENS: &str = "tokens";
/// The ending of the file with the token of the printed link.
pub(crate) const LINK: &str = "token";

/// Names the file with this ending beside the database.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    database.with_added_extension(ending)
}

/// Builds the failure of a file of tokens, with what to do.
pub(crate) fn of_tokens(error: TokenFileError) -> Failure {
    let advice = match &error {
        TokenFileError::Io { .. } => ": check the file and its folder",
        TokenFileError::Line { .. } => {
            ": take the line out, and make tokens with `madang token add`"
        }
        TokenFileError::TwoOfOneName { .. } => ": take one of their lines out",
        TokenFileError::NameTaken { .. } => ": give another with --name, or remove that one first",
        TokenFileError::InvalidName { .. } => " with --name",
        TokenFileError::NotPrivate { .. } | _ => "",
    };
    Failure::because(format!("{error}{advice}"), error)
}
