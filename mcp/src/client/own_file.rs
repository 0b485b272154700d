//! A file that only its owner reads and changes. Its name leads nowhere else: a link in its place is no such file.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

/// Reads the text of the file. A link is refused, and no pipe is waited for.
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

/// Writes the text as a whole: who is killed meanwhile leaves the old file or the new one.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("lock.{}", std::process::id()));
    let written = write_new(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What was half written is of no use; the error matters more than one of tidying.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    // A process of the same number may have left it, or someone has put a link there: neither is written to.
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
