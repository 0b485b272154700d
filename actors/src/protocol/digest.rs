//! The digest that binds an approval to what was shown and to what runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A SHA-256 over what was shown and what is run: tool, schema, arguments, user, session and call, and the request's
/// text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps a hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Gives the hash.
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

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        const NOT_A_DIGEST: &str = "a digest has 64 hexadecimal digits";
        if text.len() != 64 || !text.is_ascii() {
            return Err(NOT_A_DIGEST);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NOT_A_DIGEST)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NOT_A_DIGEST)?;
        }
        Ok(Self(bytes))
    }
}
