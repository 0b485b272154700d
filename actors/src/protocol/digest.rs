//! The digest that binds an approval to what was shown and to what runs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::as_text;

/// A SHA-256 over what was shown and what is run: tool, schema, arguments, user, session and call,
/// and the request's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps a hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written with every step of every call, so not digit by digit.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let both = |byte: &u8| [byte >> 4, byte & 15].map(|half| DIGITS[half as usize]);
        let digits: [[u8; 2]; 32] = self.0.each_ref().map(both);
        f.write_str(std::str::from_utf8(digits.as_flattened()).expect("the digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

as_text!(Digest, &'static str);

impl FromStr for Digest {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = from_hex(&text.to_ascii_lowercase());
        bytes.map(Self).ok_or("a digest has 64 hexadecimal digits")
    }
}

/// Reads bytes that were written as two lower-case digits each.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
