//! Renders templates with jinja2, in a process of Python.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::Deserialize;
use serde_json::{Value, json};

/// A process that renders.
#[derive(Debug)]
pub(super) struct Jinja {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// A rendering of jinja2.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rendered {
    Text(String),
    Error(String),
}

impl Jinja {
    /// Starts a process of this Python.
    pub(super) fn start(python: &Path) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/templates/render.py");
        let mut process = Command::new(python)
            .args(["-I", "-B", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", python.display()));
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    /// Renders a template with each of these values.
    pub(super) fn render(&mut self, source: &str, values: &[Value]) -> Vec<Rendered> {
        let line = json!({"source": source, "values": values});
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Jinja {
    fn drop(&mut self) {
        // Without input it ends by itself.
        self.input = None;
        self.process.wait().ok();
    }
}
