//! The server's process, as the bench sees it: orders go in, figures come out.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::Instant;

/// A server in a process of its own.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) secret: String,
    folder: TempDir,
    store: &'static str,
    process: Child,
    orders: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

/// Processor time over time.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) begin: Instant,
    cpu: Duration,
}

impl Host {
    /// Starts a server with a store in `memory`, with `sqlite` at FULL, or with that and the usual
    /// bounds (`defended`).
    pub(crate) fn start(store: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let (process, orders, says, address, secret) = start(folder.path(), store, port);
        Self { address, secret, folder, store, process, orders, says }
    }

    /// Kills the server, and starts it again on the same database and port.
    pub(crate) fn kill_and_start(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let port = self.address.port();
        (self.process, self.orders, self.says, self.address, self.secret) =
            start(self.folder.path(), self.store, port);
    }

    /// Lets the server do something, and waits until it is done.
    pub(crate) fn order(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        self.says.next().unwrap().unwrap()
    }

    pub(crate) fn resident_kb(&mut self) -> f64 {
        self.order("resident").parse().unwrap()
    }

    /// Returns the most memory that it has had.
    pub(crate) fn peak_kb(&mut self) -> f64 {
        self.order("peak").parse().unwrap()
    }

    fn cpu(&mut self) -> Duration {
        Duration::from_nanos(self.order("cpu").parse().unwrap())
    }

    /// Begins to measure how busy the server is.
    pub(crate) fn is_busy(&mut self) -> Busy {
        Busy { cpu: self.cpu(), begin: Instant::now() }
    }

    /// Returns the processor time since then, and the cores that this kept busy.
    pub(crate) fn was_busy(&mut self, since: &Busy) -> (Duration, f64) {
        let cpu = self.cpu() - since.cpu;
        let time = since.begin.elapsed();
        (cpu, cpu.as_secs_f64() / time.as_secs_f64())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Finds a port below those from which systems take one for a connection. From those, a client that
/// comes back while no server listens would meet itself at last.
fn free_port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 5_000).unwrap();
    let mut ports = first..first + 5_000;
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

type Started = (Child, ChildStdin, Lines<BufReader<ChildStdout>>, SocketAddr, String);

fn start(folder: &Path, store: &str, port: u16) -> Started {
    let program: PathBuf = std::env::current_exe().unwrap();
    let mut process = Command::new(program)
        .args(["--serve", store])
        .arg(folder)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let orders = process.stdin.take().unwrap();
    let mut says = BufReader::new(process.stdout.take().unwrap()).lines();
    let first = says.next().unwrap().unwrap();
    let (address, secret) = first.split_once(' ').unwrap();
    (process, orders, says, address.parse().unwrap(), secret.to_owned())
}
