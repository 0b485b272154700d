//! Loads the weights of a model, and chooses the parameters of its context.

use std::{num::NonZeroU32, panic::AssertUnwindSafe, thread};

use llama_cpp_2::{
    context::params::LlamaContextParams,
    model::{LlamaModel as Weights, params::LlamaModelParams},
};
use llama_cpp_sys_2::{LLAMA_FLASH_ATTN_TYPE_AUTO, LLAMA_FLASH_ATTN_TYPE_DISABLED};

use crate::{
    LoadError,
    backend::backend,
    gguf::Gguf,
    options::{LlamaOptions, Progress, Source},
    source::ModelFile,
};

pub(super) fn load(
    file: &ModelFile,
    gguf: &Gguf,
    progress: Option<Progress>,
    gpu_layers: u32,
) -> Result<Weights, LoadError> {
    let backend = backend()?;
    let mut params =
        LlamaModelParams::default().with_use_mmap(file.stays()).with_n_gpu_layers(gpu_layers);
    if let Some(mut progress) = progress {
        let mut has_panicked = false;
        params = params.with_progress_callback(move |done| {
            // A panic must not pass through llama.cpp; a callback that panics is not called again.
            has_panicked |= !has_panicked
                && std::panic::catch_unwind(AssertUnwindSafe(|| progress(done))).is_err();
            true
        });
    }
    Weights::load_from_file(backend, file.path(), &params).map_err(|_| LoadError::Refused {
        path: file.path().into(),
        architecture: gguf.architecture.clone(),
    })
}

/// The size up to which one thread is as fast as several.
const SMALL_MODEL_BYTES: u64 = 64 << 20;

pub(super) fn threads(options: &LlamaOptions, model_bytes: u64) -> i32 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let by_size = if model_bytes <= SMALL_MODEL_BYTES { 1 } else { cores };
    let threads = options.threads.map_or(by_size, |threads| threads.get().min(cores));
    i32::try_from(threads).unwrap_or(1)
}

pub(super) fn name(source: &Source, gguf: &Gguf) -> String {
    let file = match source {
        Source::File(path) => {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        }
        Source::Bytes { name, .. } => name.to_string(),
    };
    gguf.name.clone().filter(|name| !name.trim().is_empty()).unwrap_or(file)
}

/// The memory of a context for the tokens that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Each token.
    All,
    /// The tokens inside a sliding window, and the others until their room is needed, but never in
    /// memory. Some files do not name their window, so the cache asks the context before it relies
    /// on `All`.
    Window,
    /// One state for all tokens, as in recurrent models, which cannot go back.
    State,
}

impl Keeps {
    pub(super) fn of(weights: &Weights, gguf: &Gguf) -> Self {
        let window =
            weights.meta_val_str(&format!("{}.attention.sliding_window", gguf.architecture));
        if weights.is_recurrent() || weights.is_hybrid() {
            Self::State
        } else if window.is_ok_and(|tokens| tokens.trim() != "0") {
            Self::Window
        } else {
            Self::All
        }
    }
}

/// The size of a context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Tokens of all sequences together.
    pub(super) cells: u32,
    /// Tokens of one decode.
    pub(super) batch: u32,
    pub(super) sequences: u32,
    pub(super) threads: i32,
    pub(super) has_flash_attention: bool,
}

/// Returns the parameters of a context.
pub(super) fn context(shape: Shape) -> LlamaContextParams {
    let attention = if shape.has_flash_attention {
        LLAMA_FLASH_ATTN_TYPE_AUTO
    } else {
        LLAMA_FLASH_ATTN_TYPE_DISABLED
    };
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(shape.cells))
        // One decode is one piece, so that it is done whole or not at all.
        .with_n_batch(shape.batch)
        .with_n_ubatch(shape.batch)
        .with_n_seq_max(shape.sequences)
        .with_kv_unified(true)
        // Keeps tokens before a sliding window longer, because chats begin with them.
        .with_swa_full(true)
        .with_flash_attention_policy(attention)
        .with_n_threads(shape.threads)
        .with_n_threads_batch(shape.threads)
        .with_no_perf(true)
}
