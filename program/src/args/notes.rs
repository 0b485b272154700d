//! Options of `madang notes`.

use clap::{Args as Options, Subcommand};

use super::shared::{Database, Person, Workspace};

#[derive(Debug, Subcommand)]
pub(crate) enum Notes {
    /// Rewrite the files of the workspace that differ from the pages, and print the changes as
    /// JSON.
    ///
    /// An edited file does not change its page: it is kept next to the new file under another name.
    Repair(Repair),
}

#[derive(Debug, Options)]
pub(crate) struct Repair {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) person: Person,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
}
