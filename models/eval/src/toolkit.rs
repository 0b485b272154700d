//! The toolkits of cases: their tools and tables.

use std::{path::Path, sync::Arc};

use clap::ValueEnum;
use madang::{
    Builder, Runtime,
    store::SqliteStore,
    tool::{Tool, ToolRegistry},
};
use madang_toolkits::{life, notes};
use sqlx::migrate::Migrator;

use crate::failure::Failure;

/// A toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Toolkit {
    /// Habits: a catalogue, what a person does daily, and the rules.
    Life,
    /// Notes: pages of nested blocks.
    Notes,
}

impl Toolkit {
    /// Returns the name on the command line and in cases.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Life => "life",
            Self::Notes => "notes",
        }
    }

    fn tools(self) -> Vec<Arc<dyn Tool>> {
        match self {
            Self::Life => life::tools(),
            Self::Notes => notes::tools(),
        }
    }

    fn migrations(self) -> &'static Migrator {
        match self {
            Self::Life => &life::MIGRATIONS,
            Self::Notes => &notes::MIGRATIONS,
        }
    }
}

/// Opens a database with the tables of these toolkits.
pub(crate) async fn store(path: &Path, toolkits: &[Toolkit]) -> Result<SqliteStore, Failure> {
    let options = SqliteStore::open(path);
    let options = toolkits
        .iter()
        .fold(options, |all, toolkit| all.migrations(toolkit.name(), toolkit.migrations()));
    options.await.map_err(Failure::of)
}

/// Collects the tools of these toolkits.
pub(crate) fn registry(toolkits: &[Toolkit]) -> Result<ToolRegistry, Failure> {
    let mut registry = ToolRegistry::new();
    for toolkit in toolkits {
        registry.register_all(toolkit.tools()).map_err(Failure::of)?;
    }
    Ok(registry)
}

/// Builds a runtime with these tools on a store.
pub(crate) fn builder(store: SqliteStore, toolkits: &[Toolkit]) -> Builder {
    let tools = toolkits.iter().flat_map(|toolkit| toolkit.tools());
    Runtime::builder().store(store).panic_hook().tools(tools)
}
