//! A file that only its owner reads and changes. A link in its place is not followed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

/// Reads the text of the file. A link is refused, and a pipe is not waited for.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = options.open(path).map_err(|cause| match path.symlink_metadata() {
        Ok(named) if named.is_symlink() => io::Error::other("it is a link"),
        Ok(_) | Err(_) => cause,
    });
    let mut text = String::new();
    opened?.read_to_string(&mut text)?;
    Ok(text)
}

/// Replaces the whole text. If the process is killed meanwhile, the old file or the new one
/// remains.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("lock.{}", std::process::id()));
    let written = write_new(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // A half written file is of no use, and its error matters more than one of removing it.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    // A process with the same number may have left it, or someone may have put a link there.
    // Neither is written to.
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
