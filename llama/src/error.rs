//! Why a model could not be loaded: one sentence each, which says what to do.

use std::{io, path::PathBuf};

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file.
    #[error("failed to load the model: there is no file {}; give the path of a GGUF file", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("failed to read the model {}: check that it is a file that you may read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The file is something else.
    #[error("failed to load the model: {} is no GGUF file; give one that ends in .gguf", path.display())]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// The file is in a form of GGUF that is too old or too new.
    #[error("failed to load the model: {} is GGUF of version {version}; only 2 and 3 are supported, convert it again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The file ends too early.
    #[error("failed to load the model: {} is cut off after {actual} bytes; download or copy it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How long it is.
        actual: u64,
    },
    /// The file contradicts itself.
    #[error("failed to load the model: {} is damaged ({problem}); download or convert it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The model does something else than to write text.
    #[error("failed to load the model: {} is a {architecture} model, which writes no text; give a chat model", path.display())]
    WritesNoText {
        /// The file.
        path: PathBuf,
        /// What it calls itself.
        architecture: String,
    },
    /// llama.cpp does not know this kind of model, or found it broken.
    #[error(
        "failed to load the model: llama.cpp refuses {} ({architecture}); the log says why, and another GGUF may work",
        path.display()
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it calls itself.
        architecture: String,
    },
    /// There is no room for the context.
    #[error("failed to make room for a context of {tokens} tokens; ask for a smaller one")]
    Context {
        /// How long it should have been.
        tokens: u32,
    },
    /// A number by which tokens are chosen says nothing.
    #[error(
        "failed to load the model: {option} is {value}; choose a number from {least} to {most}"
    )]
    Sampling {
        /// Which.
        option: &'static str,
        /// What was chosen.
        value: f32,
        /// The least that it may be.
        least: f32,
        /// The most that it may be.
        most: f32,
    },
    /// The bytes of a model could not be written where llama.cpp can read them.
    #[error("failed to unpack the model into {}: make room there, or give the path of a GGUF file", path.display())]
    Unpack {
        /// Where it should have gone.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The thread that should own the model could not be started, or died while it loaded.
    #[error("failed to load the model: its thread ended; the log says why")]
    Thread {
        /// The cause, where there is one.
        #[source]
        cause: Option<io::Error>,
    },
}
