//! Reads files of text up to a bound, so that an endless one cannot exhaust the memory.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use crate::failure::Failure;

/// The longest file: far more than cases or a script need.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file of text. Sentences call it by the name; `missing` is the one if it does not exist.
pub(crate) fn file(path: &Path, name: &str, missing: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|cause| {
            let sentence = match cause.kind() {
                io::ErrorKind::NotFound => missing.to_owned(),
                io::ErrorKind::InvalidData => {
                    format!("{name} is not UTF-8: convert it and try again")
                }
                _ => format!("failed to read {name}: check that it is a file that you may read"),
            };
            Failure::because(sentence, cause)
        })?;
    if read as u64 > MAX_BYTES {
        let bound = MAX_BYTES >> 20;
        let sentence = format!("{name} has more than {bound} MiB: give a shorter one");
        return Err(Failure::new(sentence));
    }
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let Err(Failure::Explained { sentence, .. }) = file(Path::new("/dev/zero"), "it", "")
        else {
            panic!("it has no end");
        };
        assert_eq!(sentence, "it has more than 64 MiB: give a shorter one");
    }
}
