//! The first thing that a child does: it takes its pipes, and gives up rights that it does not
//! need.

use std::{
    fs::File,
    io::{self, Stdin},
};

/// Takes the pipes of a serving child: its standard input and standard output. From then on
/// standard output is standard error, so that nothing else can write between the frames, not even
/// C++.
///
/// On Linux the calling thread, and threads that it starts later, also give up gaining rights
/// (`no_new_privs`). Call this first, before any other thread runs: a model file may be hostile,
/// and is read only after this.
///
/// # Errors
/// The process has no such pipes, or the kernel refuses.
pub fn own_pipes() -> io::Result<(Stdin, File)> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_no_new_privs(true)?;
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let frames = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok((io::stdin(), File::from(frames)))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        let frames = io::stdout().as_handle().try_clone_to_owned()?;
        Ok((io::stdin(), File::from(frames)))
    }
}
