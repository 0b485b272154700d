//! Reads input whole up to a bound, so that an endless one cannot exhaust the memory.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::failure::Failure;

/// The longest input: far more than a script or a call's arguments need.
const MAX_BYTES: u64 = 64 << 20;

/// The reason why input cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    /// It could not be read.
    #[error("failed to read it")]
    Unreadable(#[from] io::Error),
    /// It is longer than the bound.
    #[error("it has more than {} MiB", MAX_BYTES >> 20)]
    TooLong,
    /// It is not text.
    #[error("it is not UTF-8")]
    NotUtf8(#[from] std::string::FromUtf8Error),
}

/// Reads text to its end.
pub(crate) fn text(input: impl Read) -> Result<String, Unusable> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unusable::TooLong);
    }
    Ok(String::from_utf8(bytes)?)
}

/// Reads a file of text. Sentences call it by the name; `missing` is the one where it does not
/// exist.
pub(crate) fn file(path: &Path, name: &str, missing: &str) -> Result<String, Failure> {
    File::open(path).map_err(Unusable::Unreadable).and_then(text).map_err(|cause| {
        let sentence = match &cause {
            Unusable::Unreadable(cause) if cause.kind() == io::ErrorKind::NotFound => {
                missing.to_owned()
            }
            Unusable::Unreadable(_) => {
                format!("failed to read {name}: check that it is a file that you may read")
            }
            Unusable::TooLong => format!("{name} cannot be used, {cause}: give a shorter one"),
            Unusable::NotUtf8(_) => format!("{name} is not UTF-8: convert it and try again"),
        };
        Failure::because(sentence, cause)
    })
}
