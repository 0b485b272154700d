//! Loads the model of a command, and chooses the text before its chats.

#[cfg(feature = "llama")]
use std::ffi::OsString;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(feature = "llama")]
use madang::model::{
    child::{ChildModel, ChildOptions},
    llama::{LlamaModel, LlamaOptions},
};
use madang::{
    Builder, ModelName,
    model::{
        Caveat, ChatModel,
        remote::{RemoteModel, RemoteOptions},
    },
};
use madang_testing::ScriptedModel;
#[cfg(feature = "llama")]
use madang_toolkits::demonstration;

#[cfg(feature = "llama")]
use crate::{args::Switch, hub, progress};
use crate::{
    args::{EngineHost, FallBacks, ModelChoice, Remote, RemoteName, Tuning},
    bounded_input,
    failure::Failure,
    hub::{HubName, Sum},
    language::UiLanguage,
    output,
    printable::printable,
    texts::Text,
};

/// A model that is ready to answer.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) model: Arc<dyn ChatModel>,
    /// The text before every chat; the bundled model was trained without one.
    pub(crate) system: Option<&'static str>,
    /// The name of a remote model in the runtime, which chats keep when the program is started with
    /// another.
    name: Option<String>,
    /// The models that follow it, by their names.
    others: Vec<(String, RemoteModel)>,
}

/// The text for a model that knows nothing of Madang.
const SYSTEM: &str = "You are an assistant with tools. Look things up with a tool rather than guess, and say truthfully \
    what a tool did or did not do. Answer briefly, in the language of the user's last message.";

impl Model {
    /// Reads the script, or downloads and loads the model; without either, loads the bundled one.
    pub(crate) async fn load(wanted: &ModelChoice, locale: UiLanguage) -> Result<Self, Failure> {
        if let Some(name) = &wanted.remote.name {
            return Self::remote(name, &wanted.remote);
        }
        let fetched = match &wanted.hf {
            Some(name) => Some(fetch(name, wanted.sha256.as_ref(), locale).await?),
            None => None,
        };
        let file = fetched.or_else(|| wanted.model.clone());
        let script = wanted.script.clone();
        let engine = wanted.engine;
        let tuning = wanted.tuning;
        let loading = tokio::task::spawn_blocking(move || match script {
            Some(path) => read_script(&path).map(|script| Self::of(script, None)),
            None => Self::llama(file.as_deref(), engine, tuning),
        });
        let loaded = loading
            .await
            .map_err(|cause| Failure::because("failed to load the model", cause))??;
        for caveat in loaded.caveats(locale) {
            output::notice(&caveat);
        }
        Ok(loaded)
    }

    fn remote(name: &RemoteName, remote: &Remote) -> Result<Self, Failure> {
        let options = remote_options(name, remote.url.as_ref()).thinking_tokens(remote.thinking);
        let options = remote.context.into_iter().fold(options, RemoteOptions::context_tokens);
        let model = RemoteModel::new(options.key_from_env()).map_err(Failure::of)?;
        let name = Some(name.name()).filter(|name| ModelName::new(&**name).is_ok());
        Ok(Self { name, ..Self::of(model, Some(SYSTEM)) })
    }

    /// Adds others after this one.
    pub(crate) fn before(mut self, others: &FallBacks) -> Result<Self, Failure> {
        for other in &others.models {
            let options = remote_options(&other.model, other.url.as_ref());
            let model = RemoteModel::new(options.key_from_env()).map_err(Failure::of)?;
            self.others.push((other.name(), model));
        }
        Ok(self)
    }

    fn of(model: impl ChatModel, system: Option<&'static str>) -> Self {
        Self { model: Arc::new(model), system, name: None, others: Vec::new() }
    }

    #[cfg(feature = "llama")]
    fn llama(file: Option<&Path>, engine: EngineHost, tuning: Tuning) -> Result<Self, Failure> {
        let system = file.is_some().then_some(SYSTEM);
        let (bar, hearing) = progress::loading();
        let model = match engine {
            EngineHost::Process => match file {
                Some(path) => {
                    let options = tuned(LlamaOptions::new(path), tuning).on_progress(hearing);
                    LlamaModel::load(options).map(|model| Self::of(model, system))
                }
                None => {
                    let tuned = |options| tuned(options, tuning).on_progress(hearing);
                    demonstration::load_with(tuned).map(|model| Self::of(model, system))
                }
            }
            .map_err(Failure::of),
            EngineHost::Child => {
                let model = ChildModel::load(child_options(file, tuning)?.on_progress(hearing));
                model.map(|model| Self::of(model, system)).map_err(Failure::of)
            }
        };
        bar.finish_and_clear();
        model
    }

    #[cfg(not(feature = "llama"))]
    fn llama(_: Option<&Path>, _: EngineHost, _: Tuning) -> Result<Self, Failure> {
        Err(without_llama())
    }

    /// Returns the name of the model, made harmless.
    pub(crate) fn name(&self) -> String {
        // A model file names itself freely.
        printable(&self.model.info().name).into_owned()
    }

    /// Returns whether this is the demonstration model, which makes mistakes that a person should
    /// see before they are written.
    pub(crate) fn is_demonstration(&self) -> bool {
        self.model.caveats().contains(&Caveat::Demonstration)
    }

    /// Says what a person should know of the model, in this language.
    pub(crate) fn caveats(&self, locale: UiLanguage) -> Vec<String> {
        let caveats = self.model.caveats();
        caveats.iter().map(|caveat| Text::Caveat(caveat).in_locale(locale)).collect()
    }

    /// Adds the model to a runtime, and those that follow it.
    pub(crate) fn put_into(self, builder: Builder) -> Builder {
        let builder = match self.name {
            Some(name) => builder.add_model(name, self.model),
            None => builder.model(self.model),
        };
        let add = |builder: Builder, (name, model)| builder.add_model(name, model);
        let builder = self.others.into_iter().fold(builder, add);
        self.system.into_iter().fold(builder, Builder::system)
    }
}

fn remote_options(name: &RemoteName, url: Option<&String>) -> RemoteOptions {
    let options = RemoteOptions::new(name.provider, &*name.model);
    url.into_iter().fold(options, RemoteOptions::url)
}

/// Downloads a model from a hub.
#[cfg(feature = "llama")]
async fn fetch(name: &HubName, sum: Option<&Sum>, locale: UiLanguage) -> Result<PathBuf, Failure> {
    hub::fetch(name, sum, locale).await
}

/// Refuses to fetch, because this program cannot run a model.
#[cfg(not(feature = "llama"))]
async fn fetch(_: &HubName, _: Option<&Sum>, _: UiLanguage) -> Result<PathBuf, Failure> {
    Err(without_llama())
}

#[cfg(not(feature = "llama"))]
pub(crate) fn without_llama() -> Failure {
    Failure::new("this madang was built without llama.cpp: give a script with --script FILE")
}

/// Runs this program once more, as `madang engine`.
#[cfg(feature = "llama")]
fn child_options(file: Option<&Path>, tuning: Tuning) -> Result<ChildOptions, Failure> {
    let options = ChildOptions::of_this_program().map_err(|cause| {
        let sentence = "failed to find this program's own file: use --engine process";
        Failure::because(sentence, cause)
    })?;
    let flash = tuning.flash_attention.map(|switch| match switch {
        Switch::On => "--flash-attention=on".to_owned(),
        Switch::Off => "--flash-attention=off".to_owned(),
    });
    let layers = tuning.gpu_layers.map(|layers| format!("--gpu-layers={layers}"));
    let context = tuning.context_tokens.map(|tokens| format!("--context={tokens}"));
    let options = options.argument("engine");
    let options =
        flash.into_iter().chain(layers).chain(context).fold(options, ChildOptions::argument);
    let Some(path) = file else { return Ok(options) };
    let mut model = OsString::from("--model=");
    model.push(path);
    Ok(options.argument(model))
}

/// Changes the options of a model as the command line says.
#[cfg(feature = "llama")]
pub(crate) fn tuned(options: LlamaOptions, tuning: Tuning) -> LlamaOptions {
    let flash = tuning.flash_attention.map(|switch| switch == Switch::On);
    let options = flash.into_iter().fold(options, LlamaOptions::flash_attention);
    let options = tuning.gpu_layers.into_iter().fold(options, LlamaOptions::gpu_layers);
    options.context_tokens(tuning.context_tokens)
}

pub(crate) fn read_script(path: &Path) -> Result<ScriptedModel, Failure> {
    let shown = path.display();
    let missing = format!("there is no script {shown}: give the path of a file of JSON lines");
    let text = bounded_input::file(path, &format!("the script {shown}"), &missing)?;
    text.parse()
        .map_err(|error| Failure::because(format!("{error}; mend {shown} and try again"), error))
}
