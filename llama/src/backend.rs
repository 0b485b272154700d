//! Initialises llama.cpp once in a process, for all models and runtimes.

use std::{path::PathBuf, sync::OnceLock};

use llama_cpp_2::{LogOptions, llama_backend::LlamaBackend, send_logs_to_tracing};

use crate::LoadError;

/// This is global because llama.cpp keeps this state once in a process. It is never freed, since
/// another model may be using it. A folder is the one that should have a library and has none.
static BACKEND: OnceLock<Result<LlamaBackend, PathBuf>> = OnceLock::new();

/// Initialises llama.cpp at first use. Its log goes to `tracing`.
///
/// # Errors
/// The libraries of a portable program are missing.
pub(super) fn backend() -> Result<&'static LlamaBackend, LoadError> {
    let backend = BACKEND.get_or_init(|| {
        send_logs_to_tracing(LogOptions::default());
        #[cfg(feature = "portable")]
        crate::processor::load_variant()?;
        // An error says that the embedder has initialised it already, and this value is the proof
        // that it is.
        Ok(LlamaBackend::init().unwrap_or(LlamaBackend {}))
    });
    backend.as_ref().map_err(|folder| LoadError::NoVariant { folder: folder.clone() })
}
