//! Tests the program as a person or a script runs it: the built binary on databases of its own.
//!
//! Each test has a `Home`: a folder with its own database, in which it runs commands and reads what
//! they print. `running` ends each process with its test, and `terminal` and `pty` give the program
//! a terminal.
//!
//! - Commands: `chat`, `calls`, `forget`, `notes`, `stress`, `verify`, `mcp`, `mcp_serve`,
//!   `serve`, `hub`.
//! - Persons: `answers`, `ahead`, `padded`, `resolving`.
//! - Ends and faults: `ending`, `gone`, `resume`, `bad_input`, `hostile_databases`.
//! - Models: `bundled`, `engine`, `remote`.

#[cfg(target_os = "linux")]
mod ahead;
#[cfg(target_os = "linux")]
mod answers;
mod bad_input;
#[cfg(feature = "llama")]
mod bundled;
mod calls;
mod caveats;
mod chat;
mod ending;
#[cfg(all(feature = "llama", target_os = "linux"))]
mod engine;
mod forget;
#[cfg(target_os = "linux")]
mod gone;
mod hostile_databases;
#[cfg(unix)]
mod hub;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_serve;
#[cfg(unix)]
mod notes;
#[cfg(target_os = "linux")]
mod padded;
mod page;
#[cfg(all(feature = "llama", target_os = "linux"))]
mod picture;
#[cfg(target_os = "linux")]
mod pty;
mod remote;
#[cfg(target_os = "linux")]
mod resolving;
#[cfg(target_os = "linux")]
mod resume;
mod running;
#[cfg(target_os = "linux")]
mod serve;
mod stress;
#[cfg(target_os = "linux")]
mod terminal;
mod verify;

use std::{ffi::OsStr, fs, path::PathBuf, process::Command, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use running::{RunningProgram, signal};

/// The time after which a test takes the program for hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A habit of the catalogue, in arguments that every rule allows.
fn add_habit() -> Value {
    let arguments = json!({
        "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "나는 아침마다 빛을 본다",
    });
    json!({ "tool_calls": [{ "name": "add_habit", "arguments": arguments }] })
}

/// Tells whether a terminal obeys this letter, or it turns the direction of text.
fn is_obeyed(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}'
}

/// A folder with a database in which the program runs. It finds `madang.db` by itself.
struct Home {
    folder: TempDir,
}

/// The end of a run.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file that only its owner may read.
    fn secret(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Writes a script and returns its path.
    fn script(&self, completions: &[Value]) -> PathBuf {
        let lines: Vec<String> = completions.iter().map(Value::to_string).collect();
        // In one step: a program that was started before may be reading it.
        let fresh = self.file("script.jsonl.new", lines.join("\n"));
        let script = self.path("script.jsonl");
        fs::rename(fresh, &script).unwrap();
        script
    }

    fn database(&self) -> PathBuf {
        self.path("data/madang/madang.db")
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_madang"));
        command.args(arguments).current_dir(self.folder.path());
        command
            .env_clear()
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env_remove("MADANG_SEAL_KEYS")
            .env("USER", "kim")
            .env("LANG", "en_US.UTF-8");
        command
    }

    /// Runs the program with this standard input.
    fn run<A: AsRef<OsStr>>(&self, arguments: &[A], input: impl AsRef<[u8]>) -> Ended {
        let mut running = RunningProgram::start(self.command(arguments));
        running.feed(input.as_ref());
        running.ended()
    }

    /// Runs a chat with this script: each line is a turn.
    fn chat(&self, script: &[Value], options: &[&str], input: impl AsRef<[u8]>) -> Ended {
        let script = self.script(script);
        let mut arguments = vec!["chat", "--script", script.to_str().unwrap()];
        arguments.extend(options);
        self.run(&arguments, input)
    }

    fn call(&self, name: &str, arguments: &Value) -> Value {
        let ended = self.run(&["call", name, "-"], arguments.to_string());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap()
    }

    /// Counts the habits in the database.
    fn habits(&self) -> u64 {
        self.call("list_active_habits", &json!({}))["data"]["count"].as_u64().unwrap()
    }
}

impl Ended {
    /// Parses the events of `--json`.
    fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the events of this type.
    fn of_type(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Lists the types of all events in order.
    fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Requires a failure in one sentence with all of these words.
    fn failed_with(&self, words: &[&str]) {
        assert_eq!(self.out, "", "{self:?}");
        self.complained_with(words);
    }

    /// Requires the same after any output.
    fn complained_with(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        let [line] = lines[..] else { panic!("more or less than one sentence: {self:?}") };
        for word in words {
            assert!(line.contains(word), "{word:?} is missing in {line:?}");
        }
    }
}
