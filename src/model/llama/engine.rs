//! The thread that owns a model and its context, and takes completions one after the other.

use std::{
    num::NonZeroU32,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc as blocking,
    },
    thread::{self, JoinHandle},
};

use llama_cpp_2::{
    context::params::LlamaContextParams,
    model::{LlamaModel as Weights, params::LlamaModelParams},
};
use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionRequest, Usage},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::{
    LoadError,
    backend::backend,
    completion::Engine,
    dialect::{CallStyle, Dialect},
    family::Family,
    gguf::Gguf,
    options::{LlamaOptions, Progress, Source},
    source::ModelFile,
};

/// A completion to generate.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: CompletionRequest,
    pub(super) deltas: Deltas,
    pub(super) stop: CancellationToken,
    /// Set when the work on it begins.
    pub(super) has_begun: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Result<Completion, ModelError>>,
}

/// What is known of a model once it is loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) family: &'static Family,
    pub(super) style: CallStyle,
}

/// Starts the thread and waits until the model is loaded.
pub(super) fn start(
    options: LlamaOptions,
    jobs: mpsc::Receiver<Job>,
) -> Result<(Loaded, JoinHandle<()>), LoadError> {
    let (loaded, outcome) = blocking::sync_channel(1);
    let thread = thread::Builder::new()
        .name("madang-llama".into())
        .spawn(move || {
            let report = loaded.clone();
            if let Err(problem) = run(options, jobs, &loaded)
                && report.send(Err(problem)).is_err()
            {
                error!("nobody waited for the model any more");
            }
        })
        .map_err(|cause| LoadError::Thread { cause: Some(cause) })?;
    let loaded = outcome.recv().map_err(|_| LoadError::Thread { cause: None })??;
    Ok((loaded, thread))
}

fn run(
    mut options: LlamaOptions,
    mut jobs: mpsc::Receiver<Job>,
    loaded: &blocking::SyncSender<Result<Loaded, LoadError>>,
) -> Result<(), LoadError> {
    let file = ModelFile::of(&options.source)?;
    let gguf = Gguf::read(file.path())?;
    let weights = load(&file, &gguf, options.progress.take(), options.gpu_layers)?;
    drop(file);
    let room = options.context_tokens.min(weights.n_ctx_train()).max(MIN_CONTEXT);
    let threads = threads(&options, weights.size());
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(room))
        .with_n_batch(options.prefill_tokens)
        .with_n_ubatch(options.prefill_tokens)
        .with_n_seq_max(1)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_no_perf(true);
    let context =
        weights.new_context(backend(), params).map_err(|_| LoadError::Context { tokens: room })?;
    let mut engine = Engine::new(&weights, context, &gguf, &options);
    let name = name(&options.source, &gguf);
    let Dialect { family, style, .. } = engine.dialect();
    info!(model = name, context_tokens = room, threads, family = family.name, "loaded the model");
    if loaded.send(Ok(Loaded { name, family, style: style.clone() })).is_err() {
        return Ok(());
    }
    while let Some(job) = jobs.blocking_recv() {
        work(&mut engine, job);
    }
    Ok(())
}

/// The least room in which a question and an answer can stand.
const MIN_CONTEXT: u32 = 64;

fn load(
    file: &ModelFile,
    gguf: &Gguf,
    progress: Option<Progress>,
    gpu_layers: u32,
) -> Result<Weights, LoadError> {
    let mut params =
        LlamaModelParams::default().with_use_mmap(file.stays()).with_n_gpu_layers(gpu_layers);
    if let Some(mut progress) = progress {
        let mut has_panicked = false;
        params = params.with_progress_callback(move |done| {
            // A panic must not pass through llama.cpp; whoever panics hears no more.
            has_panicked |= !has_panicked
                && std::panic::catch_unwind(AssertUnwindSafe(|| progress(done))).is_err();
            true
        });
    }
    Weights::load_from_file(backend(), file.path(), &params).map_err(|_| LoadError::Refused {
        path: file.path().into(),
        architecture: gguf.architecture.clone(),
    })
}

/// Up to this size of a model one thread is as fast as several.
const SMALL_MODEL_BYTES: u64 = 64 << 20;

fn threads(options: &LlamaOptions, model_bytes: u64) -> i32 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let by_size = if model_bytes <= SMALL_MODEL_BYTES { 1 } else { cores };
    let threads = options.threads.map_or(by_size, |threads| threads.get().min(cores));
    i32::try_from(threads).unwrap_or(1)
}

fn name(source: &Source, gguf: &Gguf) -> String {
    let file = match source {
        Source::File(path) => {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        }
        Source::Bytes { name, .. } => name.to_string(),
    };
    gguf.name.clone().filter(|name| !name.trim().is_empty()).unwrap_or(file)
}

fn work(engine: &mut Engine<'_>, job: Job) {
    let Job { request, deltas, stop, has_begun, reply } = job;
    has_begun.store(true, Ordering::Release);
    let result = if stop.is_cancelled() {
        Err(ModelError::Cancelled { usage: Usage::default() })
    } else {
        // A panic of a template, a grammar or a listener ends one completion, not the model.
        std::panic::catch_unwind(AssertUnwindSafe(|| engine.complete(&request, &deltas, &stop)))
            .unwrap_or_else(|_| {
                engine.forget();
                Err(ModelError::failed("Panic"))
            })
    };
    if let Err(ModelError::Failed { kind, cause }) = &result {
        error!(
            kind = &**kind,
            cause = cause.as_deref().map(tracing::field::display),
            "failed to complete"
        );
    }
    if reply.send(result).is_err() {
        tracing::debug!(completion = %request.id, "nobody waits for the completion any more");
    }
}
