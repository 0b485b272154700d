//! Parses and computes the checksum that a person gives.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::Path,
    str::FromStr,
};

use sha2::{Digest as _, Sha256};

use super::listing::hash;

/// A SHA-256, in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sum(String);

/// The text is not a checksum.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a SHA-256 as sha256sum writes it: 64 hexadecimal digits")]
pub(crate) struct NotASum;

/// The bytes of one read.
const PIECE_BYTES: usize = 256 << 10;

impl Sum {
    /// Computes the checksum of a file.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Self(digits(&sum.finalize()))),
                Ok(read) => sum.update(&piece[..read]),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }
}

impl FromStr for Sum {
    type Err = NotASum;

    fn from_str(text: &str) -> Result<Self, NotASum> {
        hash(text.to_owned(), 64).map(Self).map_err(|_| NotASum)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a hash in hexadecimal digits.
pub(super) fn digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_read_in_letters_of_both_sizes_and_nothing_else_is_one() {
        let text = "0123456789abcdef".repeat(4);
        for written in [text.clone(), text.to_uppercase()] {
            assert_eq!(written.parse::<Sum>().unwrap().to_string(), text);
        }
        for wrong in ["", "abc", &"g".repeat(64), &"0".repeat(65), &"가".repeat(32)] {
            assert_eq!(wrong.parse::<Sum>(), Err(NotASum), "{wrong}");
        }
    }

    #[test]
    fn the_checksum_of_a_file_is_that_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(
            Sum::of(&path).unwrap().to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
