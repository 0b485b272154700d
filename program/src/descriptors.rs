//! The open files that another program handed down with the start, such as the socket of
//! `--listen fd:3`.

use std::io;

/// Keeps what was handed down from every process that this one starts: the model's, and those of
/// MCP servers. Must be called before any of them is started.
///
/// # Errors
/// The system does not list the open files.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a file that was handed down is known by its number alone")]
pub(crate) fn keep_to_ourselves() -> io::Result<()> {
    use std::{fs, os::fd::BorrowedFd};

    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

    // The standard streams are 0 to 2, and each process that is started gets its own.
    let numbers = fs::read_dir("/dev/fd")?.filter_map(|entry| {
        entry.ok()?.file_name().to_str()?.parse::<i32>().ok().filter(|number| *number > 2)
    });
    for number in numbers {
        // SAFETY: the number is not -1, and the file is only asked for a flag and given it. A
        // number of no file is an error, as is that of the folder that was just read.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(file) {
            fcntl_setfd(file, flags | FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

/// Nothing is handed down by a number here.
#[cfg(not(unix))]
pub(crate) fn keep_to_ourselves() -> io::Result<()> {
    Ok(())
}
