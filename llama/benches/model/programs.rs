//! Measures the engine against llama.cpp's own programs on the same file: `llama-batched-bench` and
//! `llama-server`. `llama.cpp=FOLDER` names their folder. They must come from a build with the same
//! settings.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    CONTEXT_TOKENS, PAIRS, flash_attention, ours,
    speed::{Heard, Pairs, Speed},
    threads,
};

const SESSIONS: usize = 32;
/// The tokens of a prompt, about as many as the engine's template makes.
const PROMPT: usize = 40;
/// The longest silence of `llama-server`, with as many prompts before it as there are sessions.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures both programs, if they are named.
pub(crate) async fn measure(model: &Path) {
    let Some(folder) =
        std::env::args().find_map(|word| word.strip_prefix("llama.cpp=").map(PathBuf::from))
    else {
        println!(
            "programs: nothing is measured without llama.cpp=FOLDER, the folder of llama-server"
        );
        return;
    };
    for (sessions, tokens) in [(1, 160), (SESSIONS, 48)] {
        let mut pairs = Pairs::default();
        for pair in 0..PAIRS {
            let name = format!("batched {pair}");
            let theirs = in_thread({
                let folder = folder.clone();
                let model = model.to_path_buf();
                move || batched_bench(&folder, &model, sessions, tokens)
            });
            pairs.measure(ours(model, name, sessions, tokens), theirs).await;
        }
        println!("programs: {sessions} sessions, against llama-batched-bench: {pairs}");
    }
    let server = Arc::new(Server::start(&folder, model));
    for (sessions, tokens) in [(1, 160), (SESSIONS, 48)] {
        let mut pairs = Pairs::default();
        for pair in 0..PAIRS {
            let server = Arc::clone(&server);
            let theirs = in_thread(move || server.streams(sessions, tokens));
            pairs.measure(ours(model, format!("server {pair}"), sessions, tokens), theirs).await;
        }
        println!("programs: {sessions} sessions, against llama-server: {pairs}");
    }
}

async fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Returns the command of a program with the engine's settings.
fn program(folder: &Path, name: &str, model: &Path) -> Command {
    let mut command = Command::new(folder.join(name));
    let threads = threads().to_string();
    command.arg("-m").arg(model).args([
        "-c",
        &CONTEXT_TOKENS.to_string(),
        "-b",
        "256",
        "-ub",
        "256",
    ]);
    command.args(["-ngl", "999", "-fa", flash_attention(), "-t", &threads, "-tb", &threads]);
    command.arg("--kv-unified").stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Asks `llama-batched-bench`, which computes without choosing tokens.
fn batched_bench(folder: &Path, model: &Path, sessions: usize, tokens: usize) -> Speed {
    let mut command = program(folder, "llama-batched-bench", model);
    command.args(["-npp", &PROMPT.to_string(), "-ntg", &tokens.to_string()]);
    command.args(["-npl", &sessions.to_string(), "--output-format", "jsonl"]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{text}"));
    let said: Value = serde_json::from_str(line).unwrap();
    Speed::by_clock(said["speed_tg"].as_f64().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits for another process")]
fn pause() {
    thread::sleep(Duration::from_millis(5));
}

/// A `llama-server`, which ends with this value.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(folder: &Path, model: &Path) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let mut command = program(folder, "llama-server", model);
        command.args(["--host", "127.0.0.1", "--port", &free.port().to_string()]);
        command.args(["--parallel", &SESSIONS.to_string()]).stdout(Stdio::null());
        let mut server = Self { child: command.spawn().unwrap(), address: free };
        while !server.is_ready() {
            assert_eq!(server.child.try_wait().unwrap(), None, "llama-server has ended");
            pause();
        }
        server
    }

    fn is_ready(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address) else {
            return false;
        };
        let mut answer = String::new();
        write!(stream, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
    }

    /// Measures the tokens a second of these streams together, as those of the engine are measured.
    fn streams(&self, sessions: usize, tokens: usize) -> Speed {
        let heard = Mutex::new(Heard::of(sessions));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let streams = (0..sessions).map(|number| {
                let heard = &heard;
                let stop = &stop;
                scope.spawn(move || {
                    for _ in self.ask(number, 20 * tokens) {
                        heard.lock().unwrap().push(number);
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                })
            });
            let streams: Vec<_> = streams.collect();
            while !heard.lock().unwrap().has_each(tokens)
                && !streams.iter().any(ScopedJoinHandle::is_finished)
            {
                pause();
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(heard.lock().unwrap().has_each(tokens), "a stream of llama-server ended early");
        heard.into_inner().unwrap().speed().without_processor()
    }

    /// Asks for a stream of this many tokens, and yields once for each.
    fn ask(&self, number: usize, tokens: usize) -> impl Iterator<Item = ()> + use<> {
        let prompt: Vec<usize> = (0..PROMPT).map(|at| (at * 31 + number * 7) % 200).collect();
        let body = json!({
            "prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": true, "stream": true,
            "cache_prompt": false, "return_tokens": true,
        });
        let body = body.to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /completion HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines
            .filter(|line| line.starts_with("data: {") && line.contains("\"stop\":false"))
            .map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
