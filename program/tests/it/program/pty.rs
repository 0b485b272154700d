//! Runs the program in a pseudo-terminal of any size, which can go away.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    os::fd::{AsFd, OwnedFd},
    process::{Child, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::Value;
use tokio::time::Instant;

use super::{Home, PATIENCE, running::Process};

/// Tells whether the pseudo-terminal controls the program: only then its end also sends SIGHUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Controls,
    Not,
}

/// The program in a terminal.
pub(super) struct Pty {
    pub(super) child: Process,
    master: File,
    /// Dropping it ends the thread that reads.
    stop: Option<std::io::PipeWriter>,
    reading: Option<JoinHandle<()>>,
    shown: Arc<Shown>,
    /// The length of the output that was looked at.
    seen: usize,
}

#[derive(Default)]
struct Shown {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

impl Pty {
    /// Starts a chat with this script in a terminal of this size.
    pub(super) fn chat(
        home: &Home,
        completions: &[Value],
        options: &[&str],
        (columns, rows): (u16, u16),
    ) -> Self {
        let script = home.script(completions);
        let mut arguments = vec!["chat", "--script", script.to_str().unwrap()];
        arguments.extend(options);
        Self::start(home.command(&arguments), (columns, rows), Control::Not)
    }

    pub(super) fn start(command: Command, (columns, rows): (u16, u16), control: Control) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        // With O_NOCTTY, so that the terminal never becomes the test's own.
        let slave = rustix::fs::open(
            &*name,
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        let slave = slave.unwrap();
        let end = || slave.try_clone().unwrap();
        let mut command = in_session(command, control);
        command.env("TERM", "xterm");
        command.stdin(end()).stdout(end()).stderr(end());
        let child = Process::spawned(command);
        drop(slave);
        let shown = Arc::new(Shown::default());
        let master = File::from(master);
        let (stopped, stop) = std::io::pipe().unwrap();
        let output = master.try_clone().unwrap();
        let heard = shown.clone();
        let reading = thread::spawn(move || read(output, &stopped.into(), &heard));
        Self { child, master, stop: Some(stop), reading: Some(reading), shown, seen: 0 }
    }

    pub(super) fn write(&mut self, input: impl AsRef<[u8]>) {
        self.master.write_all(input.as_ref()).unwrap();
    }

    /// Waits until this is shown behind the last match, and returns the output up to its end.
    pub(super) fn until_shown(&mut self, wanted: &str) -> String {
        let begin = Instant::now();
        let mut bytes = self.shown.bytes.lock().unwrap();
        loop {
            let new = &bytes[self.seen..];
            if let Some(at) = new.windows(wanted.len()).position(|part| part == wanted.as_bytes()) {
                let end = at + wanted.len();
                let text = String::from_utf8_lossy(&new[..end]).into_owned();
                self.seen += end;
                return text;
            }
            let left = PATIENCE.saturating_sub(begin.elapsed());
            assert!(!left.is_zero(), "{wanted:?} is missing in {}", String::from_utf8_lossy(new));
            bytes = self.shown.more.wait_timeout(bytes, left).unwrap().0;
        }
    }

    /// Waits until one of these is shown, and tells whether it is the second. An empty first is
    /// ignored.
    pub(super) fn turns_to(&mut self, first: &str, second: &str) -> bool {
        let begin = Instant::now();
        loop {
            let rest = self.rest();
            if rest.contains(second) {
                self.until_shown(second);
                return true;
            }
            if rest.contains(first) {
                if !first.is_empty() {
                    self.until_shown(first);
                }
                return false;
            }
            assert!(begin.elapsed() < PATIENCE, "neither {first:?} nor {second:?} is in {rest}");
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Returns the output that was not looked at yet.
    pub(super) fn rest(&self) -> String {
        String::from_utf8_lossy(&self.shown.bytes.lock().unwrap()[self.seen..]).into_owned()
    }

    /// Takes the terminal away.
    pub(super) fn hang_up(self) -> Process {
        let Self { child, master, stop, reading, .. } = self;
        drop(stop);
        reading.unwrap().join().unwrap();
        drop(master);
        child
    }

    /// Splits the program from its terminal, which stays while the second value is kept.
    pub(super) fn apart(self) -> (Process, impl Drop + use<>) {
        let Self { child, master, stop, reading, .. } = self;
        (child, Apart { _master: master, stop, reading })
    }

    /// Waits for the end of the program.
    pub(super) fn ended(mut self) -> (ExitStatus, String) {
        let begin = Instant::now();
        while !is_over(self.child.id()) {
            assert!(begin.elapsed() < PATIENCE, "the program hangs at {}", self.rest());
            thread::park_timeout(Duration::from_millis(20));
        }
        let status = self.child.wait().unwrap();
        drop(self.stop);
        self.reading.unwrap().join().unwrap();
        let bytes = self.shown.bytes.lock().unwrap();
        (status, String::from_utf8_lossy(&bytes[self.seen..]).into_owned())
    }
}

/// A terminal without its program.
struct Apart {
    _master: File,
    stop: Option<std::io::PipeWriter>,
    reading: Option<JoinHandle<()>>,
}

impl Drop for Apart {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.reading.take().map(JoinHandle::join);
    }
}

/// A controlling terminal needs a session that the program leads.
fn in_session(command: Command, control: Control) -> Command {
    if control == Control::Not {
        return command;
    }
    let mut session = Command::new("setsid");
    session.arg("--ctty").arg(command.get_program()).args(command.get_args());
    session.current_dir(command.get_current_dir().unwrap()).env_clear();
    session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    session.env("PATH", std::env::var_os("PATH").unwrap());
    session
}

fn read(mut output: File, stopped: &OwnedFd, shown: &Shown) {
    let mut bytes = [0; 4096];
    loop {
        let mut both = [
            PollFd::new(&output, PollFlags::IN),
            PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN),
        ];
        poll(&mut both, None).unwrap();
        let is_stopped = !both[1].revents().is_empty();
        let has_more = both[0].revents().contains(PollFlags::IN);
        if !has_more && (is_stopped || !both[0].revents().is_empty()) {
            return;
        }
        match output.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => {
                shown.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
                shown.more.notify_all();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The program has closed its side.
            Err(_) => return,
        }
    }
}

/// Waits for the end of a process, and kills it if it does not end.
pub(super) fn wait(child: &mut Child, patience: Duration) -> ExitStatus {
    let begin = Instant::now();
    while !is_over(child.id()) {
        if begin.elapsed() > patience {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the program does not end by itself within {patience:?}");
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    child.wait().unwrap()
}

/// Tells whether the process has ended, before it is waited for.
pub(super) fn is_over(process: u32) -> bool {
    stat(process)[0] == "Z"
}

/// Returns the processor time of a process and its threads, before it is waited for.
pub(super) fn processor_time(process: u32) -> Duration {
    let stat = stat(process);
    let ticks: u64 = stat[11].parse::<u64>().unwrap() + stat[12].parse::<u64>().unwrap();
    Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap()
}

/// Returns the fields of `/proc` behind the name: the state, and so on.
fn stat(process: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, behind_name) = stat.rsplit_once(") ").unwrap();
    behind_name.split(' ').map(str::to_owned).collect()
}
