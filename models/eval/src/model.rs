//! Loads the model that is judged, and chooses the text before its chats.

use std::{path::Path, sync::Arc};

#[cfg(feature = "llama")]
use madang::model::llama::{LlamaModel, LlamaOptions};
use madang::model::{
    ChatModel,
    remote::{RemoteModel, RemoteOptions},
};
use madang_testing::ScriptedModel;
#[cfg(feature = "llama")]
use madang_toolkits::demonstration;

use crate::{
    args::{ModelChoice, RemoteName},
    failure::Failure,
    input,
};

/// A model that is ready to answer.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) model: Arc<dyn ChatModel>,
    /// The text before every chat; the bundled model was trained without one.
    pub(crate) system: Option<&'static str>,
}

/// The text for a model that knows nothing of Madang, as in the program `madang`.
const SYSTEM: &str = "You are an assistant with tools. Look things up with a tool rather than guess, and say truthfully \
    what a tool did or did not do. Answer briefly, in the language of the user's last message.";

impl Model {
    /// Reads the script, asks elsewhere, or loads the file; without any, loads the bundled model.
    pub(crate) async fn load(wanted: ModelChoice) -> Result<Self, Failure> {
        if let Some(name) = &wanted.remote {
            return remote(name, &wanted);
        }
        let loading = tokio::task::spawn_blocking(move || match &wanted.script {
            Some(path) => Ok(Self { model: Arc::new(read_script(path)?), system: None }),
            None => local(&wanted),
        });
        loading.await.map_err(|cause| Failure::because("failed to load the model", cause))?
    }
}

fn remote(name: &RemoteName, wanted: &ModelChoice) -> Result<Model, Failure> {
    let options = RemoteOptions::new(name.provider, &*name.model);
    let options = wanted.remote_url.iter().fold(options, RemoteOptions::url);
    let options = options.thinking_tokens(wanted.remote_thinking);
    let options = wanted.remote_context.into_iter().fold(options, RemoteOptions::context_tokens);
    let model = RemoteModel::new(options.key_from_env()).map_err(Failure::of)?;
    Ok(Model { model: Arc::new(model), system: Some(SYSTEM) })
}

#[cfg(feature = "llama")]
fn local(wanted: &ModelChoice) -> Result<Model, Failure> {
    let tuned = |options| {
        let options = wanted.gpu_layers.into_iter().fold(options, LlamaOptions::gpu_layers);
        options.context_tokens(wanted.context)
    };
    Ok(match &wanted.model {
        Some(path) if wanted.is_demonstration => {
            let model = demonstration::load_file(path, tuned).map_err(Failure::of)?;
            Model { model: Arc::new(model), system: None }
        }
        Some(path) => {
            let model = LlamaModel::load(tuned(LlamaOptions::new(path))).map_err(Failure::of)?;
            Model { model: Arc::new(model), system: Some(SYSTEM) }
        }
        None => {
            let model = demonstration::load_with(tuned).map_err(Failure::of)?;
            Model { model: Arc::new(model), system: None }
        }
    })
}

#[cfg(not(feature = "llama"))]
fn local(_: &ModelChoice) -> Result<Model, Failure> {
    Err(Failure::new("this program was built without llama.cpp: give a script with --script FILE"))
}

fn read_script(path: &Path) -> Result<ScriptedModel, Failure> {
    let shown = path.display();
    let missing = format!("there is no script {shown}: give the path of a file of JSON lines");
    let text = input::file(path, &format!("the script {shown}"), &missing)?;
    text.parse()
        .map_err(|error| Failure::because(format!("{error}; mend {shown} and try again"), error))
}
