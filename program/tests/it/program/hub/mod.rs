//! Tests that a model named on a hub is downloaded completely or not at all, and once.

mod broken;
mod cache;
mod complete;
mod pinned;
mod safety;
mod server;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    thread,
};

use serde_json::json;
use tokio::time::Instant;

use super::{Ended, Home, PATIENCE, RunningProgram, signal};
use server::{Asked, COMMIT, Hub, Plan, sha256};

const MODEL: &str = "someone/some-model-GGUF";
const FILE: &str = "some-model-Q4_K_M.gguf";

/// Makes a model's bytes, all pieces of which differ.
fn model(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

/// The program in a home of its own, with this hub.
fn command(home: &Home, hub: &Hub, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("HF_ENDPOINT", hub.endpoint()).env("HF_HOME", home.path("hf"));
    command
}

fn run(command: Command) -> Ended {
    RunningProgram::start(command).ended()
}

fn fetch(home: &Home, hub: &Hub, name: &str) -> Ended {
    run(command(home, hub, &["fetch", name]))
}

/// Returns the repository's folder in the cache.
fn folder(home: &Home) -> PathBuf {
    home.path("hf/hub/models--someone--some-model-GGUF")
}

fn blob(home: &Home, bytes: &[u8]) -> PathBuf {
    folder(home).join("blobs").join(sha256(bytes))
}

fn incomplete(home: &Home, bytes: &[u8]) -> PathBuf {
    blob(home, bytes).with_extension("incomplete")
}

/// Requires a success whose printed path leads to these bytes.
fn brought(ended: &Ended, bytes: &[u8]) -> PathBuf {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let path = PathBuf::from(ended.out.strip_suffix('\n').unwrap());
    assert!(fs::read(&path).unwrap() == bytes, "{path:?} has other bytes");
    path
}

/// Requires a failure in one sentence with these words, and no path.
fn refused(ended: &Ended, words: &[&str]) {
    let told: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("madang: ")).collect();
    let [sentence] = told[..] else { panic!("more or less than one sentence: {ended:?}") };
    assert_eq!((ended.code, &*ended.out), (Some(1), ""), "{ended:?}");
    for word in words {
        assert!(sentence.contains(word), "{word:?} is missing in {sentence:?}");
    }
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to that");
        thread::yield_now();
    }
}

fn length(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |found| usize::try_from(found.len()).unwrap())
}

/// Lists the offsets from which bytes were requested.
fn offsets(hub: &Hub) -> Vec<usize> {
    hub.asked().iter().map(|asked| asked.from).collect()
}

/// Lists all files below a folder in order.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}
