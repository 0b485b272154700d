//! Fuzzing: random bytes go through the parts of the runtime that read a model's output or write
//! its input.
//!
//! Each [`Target`] takes any bytes, panics at a broken promise, and names the path that the bytes
//! took. Tests send inputs through that proptest makes, and cargo-fuzz runs the same functions
//! (`fuzz/`).
//!
//! - `dispatch`: a call has one outcome, on which ledger, handler and caller agree.
//! - `parser`: the found calls do not depend on how the text is split.
//! - `envelope`: the text for the model is bounded and true.
//!
//! ```no_run
//! use madang_proof::fuzz::Target;
//!
//! let path = Target::Envelope.run(b"{\"count\": 3}");
//! ```

mod dispatch;
mod envelope;
mod parser;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::named::named;

named! {
    /// A target of the bytes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Target {
        /// A call through `Runtime::begin`: tool, decision and raw arguments.
        Dispatch = "dispatch",
        /// Streamed text of a model, through the parser of tool calls.
        Parser = "parser",
        /// Data of a tool, through the envelope for the model.
        Envelope = "envelope",
    }
}

impl Target {
    /// Sends the bytes through, and returns the path that they took.
    ///
    /// # Panics
    /// At a broken promise.
    #[must_use]
    pub fn run(self, bytes: &[u8]) -> String {
        match self {
            Self::Dispatch => dispatch::run(bytes),
            Self::Parser => parser::run(bytes),
            Self::Envelope => envelope::run(bytes),
        }
    }

    /// Reads the inputs in `fuzz/corpus`: those that once broke a promise, and others that take
    /// rare paths.
    ///
    /// # Errors
    /// The corpus cannot be read, or is empty.
    pub fn corpus(self) -> io::Result<Vec<Vec<u8>>> {
        let folder = corpora().join(self.name());
        let mut files = fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        files.sort();
        if files.is_empty() {
            return Err(io::Error::other(format!("{} is empty", folder.display())));
        }
        files.iter().map(fs::read).collect()
    }

    /// Lists words with a meaning for this target.
    #[must_use]
    pub const fn dictionary(self) -> &'static [&'static str] {
        match self {
            Self::Dispatch => &[
                "\"name\":",
                "\"kind\":",
                "\"sleep\"",
                "\"tags\":[",
                "\"inner\":{",
                "null",
                "1e400",
                "-1",
                "18446744073709551616",
                "0.1",
                "\\u0000",
                "\\ud800",
                "[",
                "]",
                "{",
                "}",
                ",",
                "\"",
                "수면",
                "\n",
                "typed y\n",
                "choice n\n",
                "asks -\n",
                "strict y\n",
                "save y\n",
                "{\"name\":\"a\"}",
            ],
            Self::Parser => &[
                "<tool_call>",
                "</tool_call>",
                "<think>",
                "</think>",
                "{\"name\":\"a\",\"arguments\":{}}",
                "{\"tool_call\":",
                "```json\n",
                "```",
                "{",
                "}",
                "\"",
                "\\",
                "\nUser:",
                "<",
                "\n",
                "수면",
                "\u{7}",
            ],
            Self::Envelope => &[
                "{\"items\":[",
                "\"count\":",
                "\"_truncated\":true",
                "[[[[",
                "]",
                "{",
                "}",
                ",",
                "\"",
                "null",
                "1e308",
                "18446744073709551615",
                "수면",
                "\\u0000",
                "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",",
                "\u{10ffff}",
            ],
        }
    }
}

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus")
}
