//! `madang engine`: runs a model for the program that started this one, until that program ends.

use std::{fs::File, io::Stdin};

use madang::model::child::{self, Served};
#[cfg(feature = "llama")]
use madang::model::{
    child::ModelReport,
    llama::{EngineStats, LlamaModel, LlamaOptions},
};
#[cfg(feature = "llama")]
use madang_toolkits::demonstration;
#[cfg(feature = "llama")]
use serde_json::json;

use crate::{args::Engine, failure::Failure, model, signals::Signals};

/// Where requests come from, and where answers go.
pub(crate) type Pipes = (Stdin, File);

/// Takes the pipes of this process, and gives up what it does not need. Must be called before any
/// thread is started.
pub(crate) fn own_pipes() -> Result<Pipes, Failure> {
    child::own_pipes().map_err(|cause| Failure::because("failed to take over the pipes", cause))
}

/// Serves until the program that started this one closes the pipe or is gone.
pub(crate) async fn run(wanted: Engine, (input, output): Pipes) -> Result<(), Failure> {
    // A signal to all processes asks the program to end in order, for which it needs its model.
    let _heard_and_ignored = Signals::new()?;
    let ended = child::serve(input, output, move |progress| load(&wanted, progress)).await;
    ended.map_err(|cause| Failure::because("failed to serve the model", cause))
}

fn load(wanted: &Engine, progress: impl FnMut(f32) + Send + 'static) -> Result<Served, Failure> {
    match &wanted.script {
        Some(path) => model::read_script(path).map(Served::new),
        None => llama(wanted, progress),
    }
}

#[cfg(feature = "llama")]
fn llama(wanted: &Engine, progress: impl FnMut(f32) + Send + 'static) -> Result<Served, Failure> {
    let tuned = |options| model::tuned(options, wanted.tuning).on_progress(progress);
    Ok(match &wanted.model {
        Some(path) => {
            let loaded = LlamaModel::load(tuned(LlamaOptions::new(path))).map_err(Failure::of)?;
            Served::reporting(loaded, |model| report(model.stats()))
        }
        None => {
            let loaded = demonstration::load_with(tuned).map_err(Failure::of)?;
            Served::reporting(loaded, |model| report(model.inner().stats()))
        }
    })
}

#[cfg(feature = "llama")]
fn report(stats: EngineStats) -> ModelReport {
    ModelReport { progress: Some(stats.decodes), figures: json!(stats) }
}

#[cfg(not(feature = "llama"))]
fn llama(_: &Engine, _: impl FnMut(f32) + Send + 'static) -> Result<Served, Failure> {
    Err(model::without_llama())
}
