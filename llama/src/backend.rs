//! Initialises llama.cpp once in a process, for all models and runtimes.

use std::sync::OnceLock;

use llama_cpp_2::{LogOptions, llama_backend::LlamaBackend, send_logs_to_tracing};

/// This is global because llama.cpp keeps this state once in a process. It is never freed, since
/// another model may be using it.
static BACKEND: OnceLock<LlamaBackend> = OnceLock::new();

/// Initialises llama.cpp at first use. Its log goes to `tracing`.
pub(super) fn backend() -> &'static LlamaBackend {
    BACKEND.get_or_init(|| {
        send_logs_to_tracing(LogOptions::default());
        // An error says that the embedder has initialised it already, and this value is the proof
        // that it is.
        LlamaBackend::init().unwrap_or(LlamaBackend {})
    })
}
