//! The reasons why a model cannot be loaded. Each says in one sentence what is wrong and what to
//! do.

use std::{io, path::PathBuf};

/// The reason why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file does not exist.
    #[error("failed to load the model: there is no file {}; give the path of a GGUF file", path.display())]
    NotFound {
        /// The path of the missing file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("failed to read the model {}: check that it is a file that you may read", path.display())]
    Read {
        /// The path of the unreadable file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The file has another format.
    #[error("failed to load the model: {} is not a GGUF file; give one that ends in .gguf", path.display())]
    NotGguf {
        /// The path of the file, as the caller gave it.
        path: PathBuf,
    },
    /// The form of GGUF is too old or too new.
    #[error("failed to load the model: {} is GGUF of version {version}; only 2 and 3 are supported, convert it again", path.display())]
    Version {
        /// The path of the file, as the caller gave it.
        path: PathBuf,
        /// The version in the head of the file.
        version: u32,
    },
    /// The file ends too early.
    #[error("failed to load the model: {} is cut off after {actual} bytes; download or copy it again", path.display())]
    Truncated {
        /// The path of the file that is cut off.
        path: PathBuf,
        /// The length of the file in bytes.
        actual: u64,
    },
    /// The content of the file contradicts itself.
    #[error("failed to load the model: {} is damaged ({problem}); download or convert it again", path.display())]
    Damaged {
        /// The path of the damaged file.
        path: PathBuf,
        /// The contradiction, as a clause of a sentence.
        problem: String,
    },
    /// The model does not write text.
    #[error("failed to load the model: {} is a {architecture} model, which writes no text; give a chat model", path.display())]
    WritesNoText {
        /// The path of the file, as the caller gave it.
        path: PathBuf,
        /// The architecture that the file names.
        architecture: String,
    },
    /// llama.cpp does not support this model, or found it broken.
    #[error(
        "failed to load the model: llama.cpp refuses {} ({architecture}); the log says why, and another GGUF may work",
        path.display()
    )]
    Refused {
        /// The path of the file that llama.cpp refused.
        path: PathBuf,
        /// The architecture that the file names.
        architecture: String,
    },
    /// The folder of a portable program has no library for this processor.
    #[error(
        "failed to load the model: {} has no library of llama.cpp for this processor; install the \
         program again, or restart it if that has just been done",
        folder.display()
    )]
    NoVariant {
        /// The folder of the program.
        folder: PathBuf,
    },
    /// The memory is not enough for the context.
    #[error(
        "failed to make room for a context of {tokens} tokens; ask for a smaller one (--context)"
    )]
    Context {
        /// The requested length of the context.
        tokens: u32,
    },
    /// A sampling option is out of range.
    #[error(
        "failed to load the model: {option} is {value}; choose a number from {least} to {most}"
    )]
    Sampling {
        /// The name of the option.
        option: &'static str,
        /// The chosen value.
        value: f32,
        /// The smallest allowed value.
        least: f32,
        /// The largest allowed value.
        most: f32,
    },
    /// The model's bytes cannot be written to a file for llama.cpp.
    #[error("failed to unpack the model into {}: make room there, or give the path of a GGUF file", path.display())]
    Unpack {
        /// The path of the file to write.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The model's thread did not start, or died while it loaded.
    #[error("failed to load the model: its thread ended; the log says why")]
    Thread {
        /// The system's error, if it gave one.
        #[source]
        cause: Option<io::Error>,
    },
}
