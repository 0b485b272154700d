//! Options of a model in a process of its own.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

/// Longer than any process runs, and short enough to add to a moment. Longer times are cut to this.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Options of a model in a process of its own: the program that serves it, and how it is watched.
#[non_exhaustive]
pub struct ChildOptions {
    pub(super) program: PathBuf,
    /// The name in the process list, if it differs from the program.
    pub(super) called: Option<OsString>,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) max_waiting: usize,
    pub(super) ping_every: Duration,
    pub(super) silent_after: Duration,
    pub(super) still_after: Duration,
    pub(super) load_within: Duration,
    pub(super) first_delay: Duration,
    pub(super) longest_delay: Duration,
    pub(super) healthy_after: Duration,
    pub(super) end_within: Duration,
    pub(super) progress: Option<Progress>,
}

/// Receives the loaded fraction of a model, from 0 to 1.
pub(super) type Progress = Box<dyn FnMut(f32) + Send>;

impl ChildOptions {
    /// Uses the program at this path, which calls [`serve`](super::serve) with its standard input
    /// and output.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            called: None,
            arguments: Vec::new(),
            variables: Vec::new(),
            max_waiting: 1_024,
            ping_every: Duration::from_secs(2),
            silent_after: Duration::from_secs(30),
            still_after: Duration::from_secs(2 * 60),
            load_within: Duration::from_secs(10 * 60),
            first_delay: Duration::from_millis(100),
            longest_delay: Duration::from_secs(10),
            healthy_after: Duration::from_secs(10),
            end_within: Duration::from_secs(2),
            progress: None,
        }
    }

    /// Uses the running program once more. On Linux this is the same file even if another version
    /// has been installed over it.
    ///
    /// # Errors
    /// The system does not know the program's own path.
    pub fn of_this_program() -> std::io::Result<Self> {
        let own = Path::new("/proc/self/exe");
        if cfg!(target_os = "linux") && own.exists() {
            return Ok(Self { called: std::env::args_os().next(), ..Self::new(own) });
        }
        std::env::current_exe().map(Self::new)
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable in the child's environment. Among this process's own variables, the child
    /// receives only those that a model needs: paths, language, log, threads and graphics cards. No
    /// key or token is among them.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets how many completions may wait or run at once, 1,024 by default. More are refused as
    /// `Overloaded`.
    #[must_use]
    pub fn max_waiting(mut self, completions: usize) -> Self {
        self.max_waiting = completions.max(1);
        self
    }

    /// Sets the time between two pings to the child, 2 seconds by default. The bounds below count
    /// pings, so time in which this process itself was stopped does not count.
    #[must_use]
    pub fn ping_every(mut self, time: Duration) -> Self {
        self.ping_every = time.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// Sets the time after which a silent child is ended, 30 seconds by default.
    #[must_use]
    pub fn silent_after(mut self, time: Duration) -> Self {
        self.silent_after = time.min(LONGEST);
        self
    }

    /// Sets the time after which a child that has completions and makes no progress is ended. The
    /// default is 2 minutes: longer than one decode of the largest model, and as long as a caller
    /// waits for a first token.
    #[must_use]
    pub fn still_after(mut self, time: Duration) -> Self {
        self.still_after = time.min(LONGEST);
        self
    }

    /// Sets the time after which a child that still loads its model is ended, 10 minutes by
    /// default.
    #[must_use]
    pub fn load_within(mut self, time: Duration) -> Self {
        self.load_within = time.min(LONGEST);
        self
    }

    /// Sets the delays before a restart: none after the first end, `first` after the second in a
    /// row, and then twice as long each time, up to `longest`. The defaults are 100 milliseconds
    /// and 10 seconds.
    #[must_use]
    pub fn restart_delay(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_delay, self.longest_delay) = (first.min(LONGEST), longest.min(LONGEST));
        self
    }

    /// Sets how long a child must live to reset that delay, 10 seconds by default.
    #[must_use]
    pub fn healthy_after(mut self, time: Duration) -> Self {
        self.healthy_after = time.min(LONGEST);
        self
    }

    /// Sets the time that a child has to end by itself after the model is dropped, 2 seconds by
    /// default. It is then killed.
    #[must_use]
    pub fn end_within(mut self, time: Duration) -> Self {
        self.end_within = time.min(LONGEST);
        self
    }

    /// Sets the function that receives the loaded fraction of the model, from 0 to 1, while the
    /// first child loads it.
    #[must_use]
    pub fn on_progress(mut self, progress: impl FnMut(f32) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl fmt::Debug for ChildOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildOptions")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_moment_later_by_any_of_its_times_is_one() {
        for time in [Duration::ZERO, Duration::MAX] {
            let options = ChildOptions::new("madang")
                .ping_every(time)
                .silent_after(time)
                .still_after(time)
                .load_within(time)
                .restart_delay(time, time)
                .healthy_after(time)
                .end_within(time);
            for time in [
                options.ping_every,
                options.silent_after,
                options.still_after,
                options.load_within,
                options.first_delay,
                options.longest_delay,
                options.healthy_after,
                options.end_within,
            ] {
                assert!(Instant::now().checked_add(time).is_some(), "{time:?}");
            }
        }
    }
}
