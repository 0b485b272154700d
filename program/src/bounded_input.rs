//! Reads input whole up to a bound, so that an endless one cannot exhaust the memory.

use std::io::{self, Read};

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
