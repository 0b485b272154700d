//! What a command needs before it can begin: the database, the tools, the model.

#[cfg(feature = "llama")]
use std::ffi::OsString;
use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(feature = "llama")]
use madang::model::{
    child::{ChildModel, ChildOptions},
    llama::{LlamaModel, LlamaOptions},
};
use madang::store::SqliteStore;
use madang::{
    Builder, ChatModel, Locale, ModelInfo, Runtime, ToolRegistry, testing::ScriptedModel,
    toolkit::life,
};

use crate::{
    args::{Database, EnginePlace, Toolkit, Toolkits},
    failure::Failure,
    hub::HubName,
    whole::{self, Unusable},
};
#[cfg(feature = "llama")]
use crate::{hub, progress::Progress};

/// Opens the database to write, with the tables of these toolkits; creates it where there is none.
pub(crate) async fn store(
    database: &Database,
    toolkits: &Toolkits,
) -> Result<SqliteStore, Failure> {
    let path = match &database.path {
        Some(path) => path.clone(),
        None => {
            let path = usual_path(|name| env::var_os(name).map(PathBuf::from))?;
            create_folder_of(&path)?;
            path
        }
    };
    let migrations = toolkits.names.iter().map(|toolkit| match toolkit {
        Toolkit::Life => &*life::MIGRATIONS,
    });
    SqliteStore::open(&path, migrations).await.map_err(Failure::of)
}

/// Opens the database to read, beside whoever holds it.
pub(crate) async fn store_to_read(database: &Database) -> Result<SqliteStore, Failure> {
    let path = match &database.path {
        Some(path) => path.clone(),
        None => usual_path(|name| env::var_os(name).map(PathBuf::from))?,
    };
    SqliteStore::open_read_only(&path).await.map_err(Failure::of)
}

/// The tools alone.
pub(crate) fn registry(toolkits: &Toolkits) -> Result<ToolRegistry, Failure> {
    let mut registry = ToolRegistry::new();
    for toolkit in &toolkits.names {
        registry.register_all(tools(*toolkit)).map_err(Failure::of)?;
    }
    Ok(registry)
}

/// A runtime without its model.
pub(crate) fn builder(store: SqliteStore, toolkits: &Toolkits, locale: Locale) -> Builder {
    let builder = Runtime::builder().store(store).locale(locale).panic_hook();
    toolkits.names.iter().fold(builder, |builder, toolkit| builder.tools(tools(*toolkit)))
}

fn tools(toolkit: Toolkit) -> Vec<Arc<dyn madang::tool::Tool>> {
    match toolkit {
        Toolkit::Life => life::tools(),
    }
}

/// Brings a model from a hub, if this program can use one.
#[cfg(feature = "llama")]
pub(crate) async fn fetch(name: &HubName, locale: Locale) -> Result<PathBuf, Failure> {
    hub::fetch(name, locale).await
}

/// Brings nothing: it could not be used.
#[cfg(not(feature = "llama"))]
pub(crate) async fn fetch(_: &HubName, _: Locale) -> Result<PathBuf, Failure> {
    Err(without_llama())
}

/// What answers in a chat.
#[derive(Debug)]
pub(crate) enum Model {
    Script(ScriptedModel),
    #[cfg(feature = "llama")]
    Llama {
        model: LlamaModel,
        system: System,
    },
    #[cfg(feature = "llama")]
    Child {
        model: ChildModel,
        system: System,
    },
}

/// What stands before every chat; the bundled model was trained without such a text.
#[cfg(feature = "llama")]
type System = Option<&'static str>;

/// What a model is told that knows nothing of Madang.
#[cfg(feature = "llama")]
const SYSTEM: &str = "You are an assistant with tools. Look things up with a tool rather than guess, and say truthfully \
    what a tool did or did not do. Answer briefly, in the language of the user's last message.";

impl Model {
    /// Reads the script, or loads the model, which blocks the thread for as long as that takes.
    ///
    /// Without a script and a file it is the bundled one.
    pub(crate) fn load(
        file: Option<&Path>,
        script: Option<&Path>,
        engine: EnginePlace,
    ) -> Result<Self, Failure> {
        match script {
            Some(path) => read_script(path).map(Self::Script),
            None => Self::llama(file, engine),
        }
    }

    #[cfg(feature = "llama")]
    fn llama(file: Option<&Path>, engine: EnginePlace) -> Result<Self, Failure> {
        let system = file.is_some().then_some(SYSTEM);
        let bar = Progress::new();
        let hearing = bar.hearing();
        let model = match engine {
            EnginePlace::Process => {
                let model = LlamaModel::load(llama_options(file)?.on_progress(hearing));
                model.map(|model| Self::Llama { model, system }).map_err(Failure::of)
            }
            EnginePlace::Child => {
                let model = ChildModel::load(child_options(file)?.on_progress(hearing));
                model.map(|model| Self::Child { model, system }).map_err(Failure::of)
            }
        };
        bar.finish();
        model
    }

    #[cfg(not(feature = "llama"))]
    fn llama(_: Option<&Path>, _: EnginePlace) -> Result<Self, Failure> {
        Err(without_llama())
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        let ModelInfo { name, .. } = match self {
            Self::Script(model) => model.info(),
            #[cfg(feature = "llama")]
            Self::Llama { model, .. } => model.info(),
            #[cfg(feature = "llama")]
            Self::Child { model, .. } => model.info(),
        };
        name.into_owned()
    }

    /// The model itself, and what stands before every chat with it.
    pub(crate) fn into_parts(self) -> (Arc<dyn ChatModel>, Option<&'static str>) {
        match self {
            Self::Script(model) => (Arc::new(model), None),
            #[cfg(feature = "llama")]
            Self::Llama { model, system } => (Arc::new(model), system),
        }
    }

    /// Puts it into a runtime.
    pub(crate) fn put_into(self, builder: Builder) -> Builder {
        match self {
            Self::Script(model) => builder.model(model),
            #[cfg(feature = "llama")]
            Self::Llama { model, system } => told(builder.model(model), system),
            #[cfg(feature = "llama")]
            Self::Child { model, system } => told(builder.model(model), system),
        }
    }
}

#[cfg(not(feature = "llama"))]
pub(crate) fn without_llama() -> Failure {
    Failure::new("this madang was built without llama.cpp: give a script with --script FILE")
}

#[cfg(feature = "llama")]
fn told(builder: Builder, system: System) -> Builder {
    match system {
        Some(text) => builder.system(text),
        None => builder,
    }
}

/// This program once more, as `madang engine`.
#[cfg(feature = "llama")]
fn child_options(file: Option<&Path>) -> Result<ChildOptions, Failure> {
    let options = ChildOptions::of_this_program().map_err(|cause| {
        let sentence = "failed to find this program's own file: use --engine process";
        Failure::because(sentence, cause)
    })?;
    let options = options.argument("engine");
    let Some(path) = file else { return Ok(options) };
    let mut model = OsString::from("--model=");
    model.push(path);
    Ok(options.argument(model))
}

/// The model of this file, or the bundled one.
#[cfg(feature = "llama")]
pub(crate) fn llama_options(file: Option<&Path>) -> Result<LlamaOptions, Failure> {
    file.map_or_else(bundled, |path| Ok(LlamaOptions::new(path)))
}

#[cfg(feature = "bundled-model")]
fn bundled() -> Result<LlamaOptions, Failure> {
    Ok(LlamaOptions::bundled())
}

#[cfg(all(feature = "llama", not(feature = "bundled-model")))]
fn bundled() -> Result<LlamaOptions, Failure> {
    Err(Failure::new("this madang was built without its model: give one with --model PATH"))
}

pub(crate) fn read_script(path: &Path) -> Result<ScriptedModel, Failure> {
    let shown = path.display();
    let opened = File::open(path).map_err(Unusable::Unread);
    let text = opened.and_then(whole::text).map_err(|cause| {
        let sentence = match &cause {
            Unusable::Unread(cause) if cause.kind() == io::ErrorKind::NotFound => {
                format!("there is no script {shown}: give the path of a file of JSON lines")
            }
            Unusable::Unread(_) => {
                format!(
                    "failed to read the script {shown}: check that it is a file that you may read"
                )
            }
            Unusable::TooLong => {
                format!("the script {shown} cannot be used, {cause}: give a shorter one")
            }
            Unusable::NotUtf8(_) => {
                format!("the script {shown} is not UTF-8: convert it and try again")
            }
        };
        Failure::because(sentence, cause)
    })?;
    text.parse()
        .map_err(|error| Failure::because(format!("{error}; mend {shown} and try again"), error))
}

/// Where the database is where nobody says: `$XDG_DATA_HOME/madang/madang.db`, or the same in `~/.local/share`.
fn usual_path(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, Failure> {
    // The specification of XDG has relative paths ignored.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.ok_or_else(|| {
        Failure::new("neither XDG_DATA_HOME nor HOME names a folder for the database: give its path with --db")
    })?;
    Ok(data.join("madang").join("madang.db"))
}

/// Creates the folder of the usual database, for this user's eyes only.
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
