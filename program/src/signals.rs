//! Handles the signals that ask the program to end, and ends it at the last moment.

use std::{io, thread, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// The longest orderly end; after it the process is ended. It is below the promised 35 s, and above
/// the time that a shutdown gives to handlers. The ledger has a tool's effect in either case.
const LAST_MOMENT: Duration = Duration::from_secs(34);

/// A request of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C.
    Interrupt,
    /// End the program: SIGTERM, SIGHUP, or a lost terminal.
    Terminate,
}

/// Receives signals from its creation on; before that they end the program as usual.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    /// A lost terminal sends no signal to a program that it does not control.
    terminal_gone: CancellationToken,
}

impl Signals {
    /// Listens from now on. After a request to end, the program ends at the last moment even
    /// without a call of [`next`](Self::next), as when the terminal takes no output.
    pub(crate) fn new() -> Result<Self, Failure> {
        let terminal_gone = CancellationToken::new();
        let heard = |terminal_gone: &CancellationToken| {
            Self::heard(terminal_gone.clone()).map_err(|cause| {
                Failure::because("failed to listen to the operating system's signals", cause)
            })
        };
        let signals = heard(&terminal_gone)?;
        let mut guard = heard(&terminal_gone)?;
        terminal::watch(terminal_gone);
        // A separate task, because output may block the one that chats.
        tokio::spawn(async move {
            while guard.next().await != Asked::Terminate {}
            end_at_the_last_moment();
        });
        Ok(signals)
    }
}

#[cfg(unix)]
impl Signals {
    fn heard(terminal_gone: CancellationToken) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminal_gone,
        })
    }

    /// Waits for the next request. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hang_up.recv() => Asked::Terminate,
            () = self.terminal_gone.cancelled() => Asked::Terminate,
            _ = self.interrupt.recv() => Asked::Interrupt,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn heard(terminal_gone: CancellationToken) -> io::Result<Self> {
        Ok(Self { terminal_gone })
    }

    /// Waits for the next request. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            interrupt = tokio::signal::ctrl_c() => match interrupt {
                Ok(()) => Asked::Interrupt,
                Err(_) => std::future::pending().await,
            },
            () = self.terminal_gone.cancelled() => Asked::Terminate,
        }
    }
}

/// Ends the process later if it still runs. The thread depends on nothing that the program waits
/// for.
fn end_at_the_last_moment() {
    let end = || {
        let moment = Instant::now() + LAST_MOMENT;
        while Instant::now() < moment {
            thread::park_timeout(moment.saturating_duration_since(Instant::now()));
        }
        end_now();
    };
    if let Err(error) = thread::Builder::new().name("last-moment".to_owned()).spawn(end) {
        tracing::error!(%error, "failed to guard the end of the program");
    }
}

/// Ends the process without flushing and destructors, which may be what hangs.
fn end_now() {
    #[cfg(unix)]
    if let Err(error) =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
    {
        tracing::error!(%error, "failed to end at once");
    }
    std::process::abort();
}

#[cfg(unix)]
mod terminal {
    use std::{io, thread};

    use rustix::{
        event::{PollFd, PollFlags, poll},
        io::Errno,
        termios::isatty,
    };
    use tokio_util::sync::CancellationToken;

    /// Reports when the terminal of standard input or output has gone away. The thread waits
    /// without using the processor, for the whole life of the process.
    pub(super) fn watch(gone: CancellationToken) {
        let stdin = io::stdin();
        let stdout = io::stdout();
        if !isatty(&stdin) && !isatty(&stdout) {
            return;
        }
        let wait = move || {
            // A pipe or a file reports its own end.
            let mut ends = Vec::with_capacity(2);
            ends.extend(isatty(&stdin).then(|| PollFd::new(&stdin, PollFlags::empty())));
            ends.extend(isatty(&stdout).then(|| PollFd::new(&stdout, PollFlags::empty())));
            loop {
                match poll(&mut ends, None) {
                    Ok(_) => break,
                    Err(Errno::INTR) => {}
                    Err(error) => return tracing::warn!(%error, "the terminal cannot be watched"),
                }
            }
            let is_gone = ends.iter().any(|end| {
                end.revents().intersects(PollFlags::HUP | PollFlags::ERR)
                    && !end.revents().contains(PollFlags::NVAL)
            });
            // Some systems cannot watch a terminal, and say so at once.
            if is_gone {
                gone.cancel();
            }
        };
        if let Err(error) = thread::Builder::new().name("terminal".to_owned()).spawn(wait) {
            tracing::error!(%error, "failed to watch the terminal");
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    use tokio_util::sync::CancellationToken;

    /// Does nothing: consoles of other systems end their programs themselves.
    pub(super) fn watch(_: CancellationToken) {}
}
