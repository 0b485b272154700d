//! Runs a server as a child process: what it sees of this program's environment, where its standard
//! error goes, and how it ends.

use std::{collections::BTreeMap, env, io, path::Path, process::Stdio, sync::Arc};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use super::limits::{END_STEP, EXIT_POLL, MAX_STDERR_LINE};

/// The variables of this program's environment that a server sees. It sees all others, such as keys
/// of models, only if the configuration passes them on.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    // Few programs start on Windows without these.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// A running server. If it is dropped, it is killed with all processes of its group.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    group: Option<u32>,
}

/// The two pipes to and from a server.
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl ServerProcess {
    /// Starts a server in a process group of its own, so that an interrupt at the terminal reaches
    /// only us.
    pub(super) fn start(
        server: &str,
        program: &str,
        arguments: &[String],
        variables: &BTreeMap<String, String>,
        folder: Option<&Path>,
    ) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, env::var_os(name)?))));
        command.envs(variables);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = child.id();
        let piped = "all three are piped";
        let pipes = Pipes {
            input: child.stdin.take().expect(piped),
            output: child.stdout.take().expect(piped),
        };
        tokio::spawn(drain(server.into(), child.stderr.take().expect(piped)));
        Ok((Self { child, group }, pipes))
    }

    /// Ends the process, whose input is closed already. It has time to end by itself, is then asked
    /// to end, and is finally killed with all that it started.
    pub(super) async fn end(mut self, server: &str) {
        if timeout(END_STEP, self.exited()).await.is_err() {
            debug!(server, "an MCP server does not end by itself");
            self.signal(Signal::End);
            if timeout(END_STEP, self.exited()).await.is_err() {
                warn!(server, "an MCP server did not end when asked, and is killed");
            }
        }
    }

    /// Returns how the process ended, if it has, and kills what it left running.
    pub(super) fn ended(&mut self) -> Option<String> {
        if !self.has_exited() {
            return None;
        }
        self.signal(Signal::Kill);
        self.group = None;
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    async fn exited(&mut self) {
        while !self.has_exited() {
            sleep(EXIT_POLL).await;
        }
    }

    /// Returns whether the process has ended, without reaping it. Until it is reaped, no other
    /// process or group can have its id, so the signal to its group reaches no stranger.
    fn has_exited(&mut self) -> bool {
        #[cfg(unix)]
        if let Some(id) = self.group_id() {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            let looks = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            // An error means that there is no such child any more.
            return waitid(WaitId::Pid(id), looks).map_or(true, |status| status.is_some());
        }
        self.child.try_wait().map_or(true, |status| status.is_some())
    }

    #[cfg(unix)]
    fn group_id(&self) -> Option<rustix::process::Pid> {
        self.group.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
    }

    fn signal(&self, signal: Signal) {
        #[cfg(unix)]
        if let Some(group) = self.group_id() {
            let signal = match signal {
                Signal::End => rustix::process::Signal::TERM,
                Signal::Kill => rustix::process::Signal::KILL,
            };
            // A group that is gone needs no signal.
            rustix::process::kill_process_group(group, signal).ok();
        }
        #[cfg(not(unix))]
        let _ = (signal, self.group);
    }
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    End,
    Kill,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}

/// Reads a server's standard error to its end, so that the server never waits for a reader. Logs
/// its lines, cut to a bound.
async fn drain(server: Arc<str>, mut stderr: ChildStderr) {
    let mut line = Vec::new();
    let mut read = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut read).await {
        for byte in &read[..count] {
            if *byte == b'\n' {
                log(&server, &mut line);
            } else if line.len() < MAX_STDERR_LINE {
                line.push(*byte);
            }
        }
    }
    log(&server, &mut line);
}

fn log(server: &str, line: &mut Vec<u8>) {
    if !line.is_empty() {
        debug!(server, line = ?String::from_utf8_lossy(line), "an MCP server wrote to its standard error");
        line.clear();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, time::Duration};

    use tokio::io::{AsyncBufReadExt as _, BufReader};

    use super::*;

    /// Starts a shell that starts a process of its own and then does this. Returns the id of that
    /// process.
    async fn with_a_child(then: &str) -> (ServerProcess, Pipes, String) {
        let script = format!("sleep 600 & echo $!; {then}");
        let arguments = ["-c".to_owned(), script];
        let started = ServerProcess::start("a", "sh", &arguments, &BTreeMap::new(), None);
        let (process, mut pipes) = started.expect("there is a shell");
        let mut child = String::new();
        let read = BufReader::new(&mut pipes.output).read_line(&mut child).await;
        read.expect("the shell says it");
        (process, pipes, child.trim().to_owned())
    }

    /// Returns the state of a process, as the system names it, or `None` after it was reaped.
    fn state(id: &str) -> Option<char> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    async fn until_it_is_over(id: &str) {
        let over = async {
            while !matches!(state(id), None | Some('Z')) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(30), over).await.expect("it was killed");
    }

    #[tokio::test]
    async fn what_a_server_started_ends_with_it() {
        let (mut process, pipes, child) = with_a_child("cat").await;
        assert_eq!(process.ended(), None);
        drop(pipes);
        process.exited().await;
        let leader = process.group.unwrap().to_string();
        assert_eq!(state(&leader), Some('Z'), "it is not reaped, so its group is no other's");
        assert_ne!(state(&child), Some('Z'), "the child goes on");
        process.end("a").await;
        until_it_is_over(&child).await;

        let (mut process, _pipes, child) = with_a_child("exit 7").await;
        process.exited().await;
        assert_eq!(process.ended().as_deref(), Some("exit status: 7"));
        assert_eq!(process.group, None, "its id may be another's now");
        until_it_is_over(&child).await;
    }
}
