//! Options of `madang notes`.

use clap::{Args as Options, Subcommand};

use super::shared::{Database, Person, Workspace};

#[derive(Debug, Subcommand)]
pub(crate) enum Notes {
    /// Write the files of the workspace anew if they differ from the pages, and print the changes
    /// as JSON.
    ///
    /// A file that was edited does not change its page: it is kept beside, under another name.
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
