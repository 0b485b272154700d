//! What the operating system asks of the program.

use std::io;

use crate::failure::Failure;

/// A request of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C.
    Interrupt,
    /// The program shall end: SIGTERM, or the terminal was closed.
    Terminate,
}

/// Hears signals from its making on; until then they end the program as usual.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn new() -> Result<Self, Failure> {
        Self::heard().map_err(|cause| {
            Failure::because("failed to listen to the operating system's signals", cause)
        })
    }
}

#[cfg(unix)]
impl Signals {
    fn heard() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hang_up.recv() => Asked::Terminate,
            _ = self.interrupt.recv() => Asked::Interrupt,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn heard() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Asked {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Asked::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
