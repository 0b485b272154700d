//! Opens the database and collects the tools for a command.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use madang::{
    Builder, LanguageTag, Runtime,
    store::{SqliteOptions, SqliteStore, Store},
    tool::{EffectPolicy, Tool, ToolRegistry},
};
use madang_toolkits::{life, notes};
use tempfile::TempDir;

use crate::{
    args::{Database, Toolkit, Toolkits},
    failure::Failure,
    model::Model,
};

/// Opens the database to write, with the tables of these toolkits; creates it if it does not exist.
pub(crate) async fn store(
    database: &Database,
    toolkits: &Toolkits,
) -> Result<SqliteStore, Failure> {
    options(database, toolkits)?.await.map_err(Failure::of)
}

/// Opens the database as [`store`] does, with the tables of a server as well.
pub(crate) async fn store_to_serve(
    database: &Database,
    toolkits: &Toolkits,
) -> Result<SqliteStore, Failure> {
    let options = options(database, toolkits)?.migrations("server", &madang_server::MIGRATIONS);
    options.await.map_err(Failure::of)
}

fn options(database: &Database, toolkits: &Toolkits) -> Result<SqliteOptions, Failure> {
    prepare_folder(database)?;
    let options = SqliteStore::open(database_path(database)?);
    Ok(toolkits.names.iter().fold(options, |options, toolkit| match toolkit {
        Toolkit::Life => options.migrations("life", &life::MIGRATIONS),
        Toolkit::Notes => options.migrations("notes", &notes::MIGRATIONS),
    }))
}

/// Returns the statements that erase a user's rows in the tables of all toolkits.
pub(crate) fn forgetting() -> Vec<&'static str> {
    [&life::FORGET[..], &notes::FORGET, &madang_server::FORGET].concat()
}

/// Returns the path of the database.
pub(crate) fn database_path(database: &Database) -> Result<PathBuf, Failure> {
    match &database.path {
        Some(path) => Ok(path.clone()),
        None => usual_path(|name| env::var_os(name).map(PathBuf::from)),
    }
}

/// Creates the folder of the usual database. One that was named is the user's own matter.
pub(crate) fn prepare_folder(database: &Database) -> Result<(), Failure> {
    match &database.path {
        Some(_) => Ok(()),
        None => create_folder_of(&database_path(database)?),
    }
}

/// Opens the database to read, beside a program that holds it.
pub(crate) async fn store_to_read(database: &Database) -> Result<SqliteStore, Failure> {
    let path = database_path(database)?;
    SqliteStore::open_read_only(&path).await.map_err(Failure::of)
}

/// Collects the tools of these toolkits.
pub(crate) fn registry(toolkits: &Toolkits) -> Result<ToolRegistry, Failure> {
    let mut registry = ToolRegistry::new();
    for toolkit in &toolkits.names {
        registry.register_all(tools(*toolkit, Writes::Run)).map_err(Failure::of)?;
    }
    Ok(registry)
}

/// Builds a runtime without its model. If the store is only for reading, it gets only the reading
/// tools. Without a language, it speaks that of each text.
pub(crate) fn builder(
    store: impl Store,
    toolkits: &Toolkits,
    language: Option<LanguageTag>,
) -> Builder {
    build(store, toolkits, language, Writes::Run)
}

/// Builds a runtime for chats with this model, which is not added. With the demonstration model a
/// person is asked before each write, because it makes mistakes.
pub(crate) fn builder_for(
    model: &Model,
    store: impl Store,
    toolkits: &Toolkits,
    language: Option<LanguageTag>,
) -> Builder {
    let writes = if model.is_demonstration() { Writes::Ask } else { Writes::Run };
    build(store, toolkits, language, writes)
}

/// What happens when a call wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// It runs, unless its tool asks.
    Run,
    /// A person is asked in any case.
    Ask,
}

fn build(
    store: impl Store,
    toolkits: &Toolkits,
    language: Option<LanguageTag>,
    writes: Writes,
) -> Builder {
    let only_reads = store.only_reads();
    let all = toolkits.names.iter().flat_map(|toolkit| tools(*toolkit, writes));
    let all = all.filter(|tool| !only_reads || tool.spec().effect == EffectPolicy::Read);
    let builder = language.into_iter().fold(Runtime::builder(), Builder::language);
    builder.store(store).panic_hook().tools(all)
}

fn tools(toolkit: Toolkit, writes: Writes) -> Vec<Arc<dyn Tool>> {
    match (toolkit, writes) {
        (Toolkit::Life, Writes::Run) => life::tools(),
        (Toolkit::Life, Writes::Ask) => life::asking_tools(),
        (Toolkit::Notes, Writes::Run) => notes::tools(),
        (Toolkit::Notes, Writes::Ask) => notes::asking_tools(),
    }
}

/// Creates a folder that is removed at the end.
pub(crate) fn temporary_folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|cause| {
        let sentence =
            "failed to create a temporary folder: set TMPDIR to a folder that you may write";
        Failure::because(sentence, cause)
    })
}

/// Returns the default path: `$XDG_DATA_HOME/madang/madang.db`, or the same in `~/.local/share`.
fn usual_path(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, Failure> {
    // XDG says to ignore relative paths.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.ok_or_else(|| {
        Failure::new("neither XDG_DATA_HOME nor HOME names a folder for the database: give its path with --db")
    })?;
    Ok(data.join("madang").join("madang.db"))
}

/// Creates the folder of the default database, readable only for this user.
fn create_folder_of(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|cause| {
        let sentence = format!(
            "failed to create the folder {}: give another place with --db PATH",
            folder.display()
        );
        Failure::because(sentence, cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_database_is_among_the_users_data() {
        let path = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            };
            usual_path(value).ok()
        };
        let home = ("HOME", "/home/kim");
        assert_eq!(path(&[home]), Some("/home/kim/.local/share/madang/madang.db".into()));
        assert_eq!(
            path(&[home, ("XDG_DATA_HOME", "/data")]),
            Some("/data/madang/madang.db".into())
        );
        assert_eq!(
            path(&[home, ("XDG_DATA_HOME", "data")]),
            Some("/home/kim/.local/share/madang/madang.db".into())
        );
        assert_eq!(path(&[]), None);
    }
}
