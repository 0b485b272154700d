//! Options of `madang notes`, and the folder of notes that other commands name too.

use std::path::PathBuf;

use clap::{Args as Options, Subcommand};

use super::shared::{Database, Person};

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

#[derive(Debug, Options)]
pub(crate) struct Workspace {
    /// The folder of this user's notes as Markdown files. Without it, a folder beside the database.
    #[arg(long = "workspace", value_name = "PATH")]
    pub(crate) folder: Option<PathBuf>,
}
