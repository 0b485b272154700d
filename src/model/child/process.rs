//! Runs one child process: its three pipes, and its end.

use std::{
    collections::VecDeque,
    env,
    future::pending,
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};
use tracing::{Level, debug, error, info, trace, warn};

use super::{
    environment::passed_on,
    error::{ChildDeath, Silence},
    frame::Frames,
    log::{Line, Log},
    options::ChildOptions,
    wire::Tell,
};

/// A child process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    /// What is still to be written of the frames.
    outgoing: VecDeque<u8>,
    frames: Frames,
    log: Log,
    read: Box<[u8]>,
    read_log: Box<[u8]>,
}

/// Bytes of one read: as many as a pipe holds.
const READ_BYTES: usize = 64 << 10;
/// A killed process is gone by then, unless the kernel itself waits for something.
const REAPED_WITHIN: Duration = Duration::from_secs(10);

impl Process {
    /// Starts the child in a process group of its own, so that the terminal interrupts only the
    /// program.
    pub(super) fn start(options: &ChildOptions) -> io::Result<Self> {
        let mut command = Command::new(&options.program);
        command.args(&options.arguments).env_clear().envs(passed_on(env::vars_os()));
        command.envs(options.variables.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        {
            command.process_group(0);
            if let Some(called) = &options.called {
                command.arg0(called);
            }
        }
        let mut child = command.spawn()?;
        let piped = "all three are piped";
        Ok(Self {
            stdin: Some(child.stdin.take().expect(piped)),
            stdout: child.stdout.take().expect(piped),
            stderr: Some(child.stderr.take().expect(piped)),
            child,
            outgoing: VecDeque::new(),
            frames: Frames::default(),
            log: Log::default(),
            read: vec![0; READ_BYTES].into(),
            read_log: vec![0; READ_BYTES].into(),
        })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Queues a frame, which is written as soon as the child reads.
    pub(super) fn send(&mut self, frame: &[u8]) {
        self.outgoing.extend(frame);
    }

    /// Waits for the child's next message. Dropping the future loses nothing; after an error no
    /// message follows.
    pub(super) async fn hear(&mut self) -> Result<Tell, Silence> {
        loop {
            if let Some(tell) = self.frames.next().map_err(Silence::Garbage)? {
                return Ok(tell);
            }
            tokio::select! {
                read = self.stdout.read(&mut self.read) => match read.map_err(Silence::Read)? {
                    0 => return Err(Silence::Closed),
                    bytes => self.frames.push(&self.read[..bytes]),
                },
                written = write(&mut self.stdin, &mut self.outgoing) => if written.is_err() {
                    // The child reads no more, but its earlier output is still to be read.
                    self.stdin = None;
                },
                read = read_some(&mut self.stderr, &mut self.read_log) => match read {
                    Ok(0) | Err(_) => self.stderr = None,
                    Ok(bytes) => self.log.push(&self.read_log[..bytes]).iter().for_each(forward),
                },
            }
        }
    }

    /// Lets the child end by itself, or kills it after this time. Leaves no zombie.
    pub(super) async fn end(mut self, within: Duration) {
        self.stdin = None;
        let by_itself = async {
            while self.hear().await.is_ok() {}
            self.child.wait().await
        };
        if timeout(within, by_itself).await.is_err() {
            debug!("the model's process is killed: it did not end in time");
            self.kill().await;
        }
    }

    /// Kills the child if it lives, and describes its end. Leaves no zombie.
    pub(super) async fn bury(mut self, silence: Silence) -> ChildDeath {
        self.stdin = None;
        let status = self.kill().await;
        // Its last output; a pipe without another holder ends with the process.
        let rest = async {
            let Some(stderr) = &mut self.stderr else { return };
            while let Ok(bytes @ 1..) = stderr.read(&mut self.read_log).await {
                self.log.push(&self.read_log[..bytes]).iter().for_each(forward);
            }
        };
        if timeout(REAPED_WITHIN, rest).await.is_err() {
            debug!("another process holds the log of the model's process");
        }
        self.log.end_line().iter().for_each(forward);
        ChildDeath { reason: silence.to_string(), status, last_words: self.log.last_words() }
    }

    async fn kill(&mut self) -> Option<ExitStatus> {
        if let Err(problem) = self.child.start_kill() {
            debug!(%problem, "the model's process could not be killed");
        }
        match timeout(REAPED_WITHIN, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            Ok(Err(problem)) => {
                error!(%problem, "failed to wait for the model's process");
                None
            }
            Err(_) => {
                error!("the model's process does not end though it was killed");
                None
            }
        }
    }
}

/// Writes some of these bytes; waits forever if there are none.
async fn write(stdin: &mut Option<ChildStdin>, bytes: &mut VecDeque<u8>) -> io::Result<usize> {
    match stdin {
        Some(stdin) if !bytes.is_empty() => stdin.write_buf(bytes).await,
        Some(_) | None => pending().await,
    }
}

/// Reads some bytes; waits forever if the pipe is gone.
async fn read_some<R: AsyncRead + Unpin>(
    pipe: &mut Option<R>,
    into: &mut [u8],
) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(into).await,
        None => pending().await,
    }
}

/// Logs a line of the child in the program's log.
fn forward(line: &Line) {
    let Line { level, text } = line;
    match *level {
        Level::ERROR => error!(target: "madang::child", "{text}"),
        Level::WARN => warn!(target: "madang::child", "{text}"),
        Level::INFO => info!(target: "madang::child", "{text}"),
        Level::DEBUG => debug!(target: "madang::child", "{text}"),
        Level::TRACE => trace!(target: "madang::child", "{text}"),
    }
}
