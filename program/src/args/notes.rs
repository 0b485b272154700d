//! Options of `madang notes`.

use clap::{Args as Options, Subcommand};

use super::shared::{Database, Person, Workspace};

#[derive(Debug, Subcommand)]
pub(crate) enum Notes {
    /// Compare all pages with the files of the workspace, repair either side, and print the changes as JSON.
    ///
    /// An edited file becomes the page; if the page changed too, the edit is kept beside it.
    Sync(Sync),
}

#[derive(Debug, Options)]
pub(crate) struct Sync {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) person: Person,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
}
