//! A process that a driver starts with orders, hears and kills.
//!
//! A child writes what it knows as lines on standard output, each whole or not at all, whenever it
//! dies.

use std::{
    error::Error,
    io::{Write as _, stdin, stdout},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Stdio,
    time::Duration,
};

use rustix::process::{Signal, getpid, kill_process};
use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::{Instant, timeout, timeout_at},
};

use crate::{oracle::Oracle, workload::Point};

/// What the children of a file have said, as the oracle has it and as the next child reads it.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) oracle: Oracle,
    pub(crate) lines: Vec<u8>,
}

impl Said {
    /// Adds a line, unless it is incomplete.
    pub(crate) fn hear(&mut self, text: &str) {
        if let Ok(line) = serde_json::from_str(text) {
            self.oracle.note(line);
            self.lines.extend(text.bytes().chain([b'\n']));
        }
    }
}

/// The time that a driver gives to a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifespan {
    /// The point at which it dies by itself, if it reaches it, and the number of that pass.
    pub(crate) dies_at: Option<(Point, u64)>,
    /// The lines that it says at the most.
    pub(crate) lines: u64,
    pub(crate) time: Duration,
    /// Whether the time begins with the process, in which perhaps nothing runs yet, or with its
    /// first line.
    pub(crate) is_from_start: bool,
}

impl Lifespan {
    /// Gives this time from the first line on.
    pub(crate) const fn of(time: Duration) -> Self {
        Self { dies_at: None, lines: u64::MAX, time, is_from_start: false }
    }

    /// Gives the time until a point is passed, or this time if it is missed.
    pub(crate) const fn until(point: Point, pass: u64, missed: Duration) -> Self {
        Self { dies_at: Some((point, pass)), ..Self::of(missed) }
    }
}

/// A child of the driver. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts the program, whose first argument is this word and whose second are the orders.
    pub(crate) fn start(program: &Path, word: &str, orders: &impl Serialize) -> Self {
        let mut child = Command::new(program)
            .arg(word)
            .arg(serde_json::to_string(orders).expect("orders are plain data"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program of the child can be started");
        let stdout = child.stdout.take().expect("standard output is piped");
        Self { child, lines: BufReader::new(stdout).lines() }
    }

    /// Writes all that the child reads from standard input, and ends that.
    pub(crate) async fn tell(&mut self, all: &[u8]) {
        let mut tells = self.child.stdin.take().expect("standard input is piped");
        // The child reads its pipe before it reports, so this ends unless the child is dead.
        let _ = tells.write_all(all).await;
    }

    /// Hears the next line; `None` after the last. A process that was killed in mid-write leaves an
    /// incomplete one.
    pub(crate) async fn hear(&mut self) -> Option<String> {
        self.lines.next_line().await.ok().flatten()
    }

    /// Hears it until its time is over. Its first line comes within the given patience, however
    /// busy the machine is.
    pub(crate) async fn lives(
        &mut self,
        lifespan: Lifespan,
        patience: Duration,
        mut hear: impl FnMut(&str),
    ) {
        if !lifespan.is_from_start {
            self.hear_until(Instant::now() + patience, 1, &mut hear).await;
        }
        self.hear_until(Instant::now() + lifespan.time, lifespan.lines, hear).await;
    }

    /// Hears this many lines, or until this moment.
    async fn hear_until(&mut self, deadline: Instant, most: u64, mut hear: impl FnMut(&str)) {
        for _ in 0..most {
            match timeout_at(deadline, self.hear()).await {
                Ok(Some(line)) => hear(&line),
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.start_kill().expect("a child can be killed until it was waited for");
    }

    /// Hears the rest of its lines, and requires that it ends by SIGKILL if it was killed, and well
    /// otherwise.
    ///
    /// # Errors
    /// How it ended instead, and what it said about that.
    pub(crate) async fn end(
        mut self,
        was_killed: bool,
        patience: Duration,
        mut hear: impl FnMut(&str),
    ) -> Result<(), String> {
        let end = timeout(patience, async {
            // Lines from before its death count.
            while let Some(line) = self.hear().await {
                hear(&line);
            }
            self.child.wait().await
        });
        let how = match end.await {
            Ok(Ok(status)) if was_killed && status.signal() == Some(9) => return Ok(()),
            Ok(Ok(status)) if !was_killed && status.success() => return Ok(()),
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it went on".to_owned(),
        };
        let _ = self.child.start_kill();
        let mut said = String::new();
        if let Some(mut error) = self.child.stderr.take() {
            let _ = error.read_to_string(&mut said).await;
        }
        Err(format!("{how}: {said}"))
    }
}

/// Dies in the way in which the driver kills, so that nothing is flushed, closed or unwound.
pub(crate) fn die() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    // The signal may find another thread first; this one goes no further.
    loop {
        std::thread::park();
    }
}

/// Reads the oracle of earlier processes from standard input.
pub(crate) fn told() -> Result<Oracle, Box<dyn Error>> {
    let mut known = Oracle::default();
    for line in stdin().lines() {
        known.note(serde_json::from_str(&line?)?);
    }
    Ok(known)
}

/// Writes a line at once: the driver reads all or nothing of it, whenever this process dies.
pub(crate) fn say<T: Serialize>(line: &T) {
    let mut text = serde_json::to_string(line).expect("lines are plain data");
    text.push('\n');
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("the driver listens");
}
