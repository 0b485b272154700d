//! Bytes that nobody thought of, through the places where what a model wrote comes in and goes out.
//!
//! Each target takes any bytes, panics where a promise is broken, and says in a few words which way the bytes went. The
//! same functions run under cargo-fuzz (`fuzz/`) and, with [`Hunt`], under a stable toolchain.

mod dispatch;
mod envelope;
mod hunt;
mod mutate;
mod parser;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use hunt::{Hunt, HuntEnd};

/// Where the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A call through `Runtime::dispatch`: tool, decision and raw arguments.
    Dispatch,
    /// What a model streams, through the parser of tool calls.
    Parser,
    /// What a tool gave, through the envelope that a model reads.
    Envelope,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Dispatch, Self::Parser, Self::Envelope];

    /// Its name, which is that of its corpus too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Parser => "parser",
            Self::Envelope => "envelope",
        }
    }

    /// Sends the bytes through, and says which way they went.
    ///
    /// # Panics
    /// Where a promise is broken.
    #[must_use]
    pub fn run(self, bytes: &[u8]) -> String {
        match self {
            Self::Dispatch => dispatch::run(bytes),
            Self::Parser => parser::run(bytes),
            Self::Envelope => envelope::run(bytes),
        }
    }

    /// What the hunt begins with.
    ///
    /// # Errors
    /// If the corpus cannot be read, or is empty.
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

    /// Words that mean something to this target.
    const fn dictionary(self) -> &'static [&'static str] {
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
