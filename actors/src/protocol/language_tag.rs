//! The name of a language: a BCP 47 tag, as it is stored and sent.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::as_text;

/// The longest tag: the longest that BCP 47 asks every program to take.
const MAX_BYTES: usize = 35;

/// Names a language by its BCP 47 tag, such as `en`, `ko` or `pt-BR`. Tags have no case: they are
/// kept in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LanguageTag {
    /// ASCII, and zeros after it.
    bytes: [u8; MAX_BYTES],
}

/// A text that is not a language tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a language tag: give one as BCP 47 has it, such as en or pt-BR")]
pub struct InvalidLanguageTag;

impl LanguageTag {
    /// English.
    pub const EN: Self = Self::known("en");
    /// Korean.
    pub const KO: Self = Self::known("ko");

    /// Makes a tag of this text.
    ///
    /// # Errors
    /// [`InvalidLanguageTag`] if a part between single hyphens does not have one to eight letters
    /// or digits, if the tag does not begin with two letters, or if it has more than 35 bytes.
    pub const fn new(text: &str) -> Result<Self, InvalidLanguageTag> {
        let text = text.as_bytes();
        let mut bytes = [0; MAX_BYTES];
        let mut at = 0;
        let mut subtag = 0;
        if text.len() < 2 || text.len() > MAX_BYTES {
            return Err(InvalidLanguageTag);
        }
        while at < text.len() {
            let byte = text[at].to_ascii_lowercase();
            subtag = if byte == b'-' { 0 } else { subtag + 1 };
            let is_fit = match byte {
                b'a'..=b'z' => true,
                b'0'..=b'9' => at >= 2,
                b'-' => at >= 2 && at + 1 < text.len() && text[at - 1] != b'-',
                _ => false,
            };
            if !is_fit || subtag > 8 {
                return Err(InvalidLanguageTag);
            }
            bytes[at] = byte;
            at += 1;
        }
        Ok(Self { bytes })
    }

    const fn known(text: &str) -> Self {
        match Self::new(text) {
            Ok(tag) => tag,
            Err(_) => panic!("the tags in this file are well formed"),
        }
    }

    /// Returns the tag's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(MAX_BYTES);
        str::from_utf8(&self.bytes[..end]).unwrap_or_default()
    }

    /// Returns only the language, without script, region or variant: `pt` of `pt-br`.
    #[must_use]
    pub fn language(&self) -> &str {
        self.as_str().split('-').next().unwrap_or_default()
    }

    /// Returns the tag, and then each more general one, in the order of RFC 4647: `zh-hant-tw`,
    /// `zh-hant`, `zh`.
    pub(super) fn and_more_general(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.as_str()), |tag| {
            let mut shorter = tag.rsplit_once('-')?.0;
            // A single letter or digit begins what was cut off after it.
            while let Some((before, last)) = shorter.rsplit_once('-')
                && last.len() == 1
            {
                shorter = before;
            }
            Some(shorter)
        })
    }
}

/// English.
impl Default for LanguageTag {
    fn default() -> Self {
        Self::EN
    }
}

impl fmt::Display for LanguageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for LanguageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LanguageTag({self})")
    }
}

impl FromStr for LanguageTag {
    type Err = InvalidLanguageTag;

    fn from_str(text: &str) -> Result<Self, InvalidLanguageTag> {
        Self::new(text)
    }
}

as_text!(LanguageTag, InvalidLanguageTag);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_what_bcp_47_has_and_case_does_not_count() {
        for text in ["en", "KO", "pt-BR", "zh-Hant-TW", "de-1996", "sl-rozaj-biske", "x1-private"] {
            let Ok(tag) = text.parse::<LanguageTag>() else {
                assert_eq!(text, "x1-private");
                continue;
            };
            assert_eq!(tag.as_str(), text.to_ascii_lowercase());
            let json = serde_json::to_string(&tag).unwrap();
            assert_eq!(json, format!("{:?}", tag.as_str()));
            assert_eq!(serde_json::from_str::<LanguageTag>(&json).unwrap(), tag);
        }
        for text in
            ["", "e", "en-", "-en", "en--us", "ko_KR", "en us", "한국", "abcdefghi", "1n", "e-1"]
        {
            assert_eq!(LanguageTag::new(text), Err(InvalidLanguageTag), "{text}");
        }
        let long = format!("en{}", "-a".repeat(17));
        assert_eq!(LanguageTag::new(&long), Err(InvalidLanguageTag));
        assert!(LanguageTag::new(&long[1..]).is_err() && LanguageTag::new(&long[..34]).is_ok());
    }

    #[test]
    fn the_more_general_tags_lead_to_the_language_alone() {
        let tags = |text: &str| -> Vec<String> {
            LanguageTag::new(text).unwrap().and_more_general().map(str::to_owned).collect()
        };
        assert_eq!(tags("zh-Hant-TW"), ["zh-hant-tw", "zh-hant", "zh"]);
        assert_eq!(tags("de-CH-u-co-phonebk"), ["de-ch-u-co-phonebk", "de-ch-u-co", "de-ch", "de"]);
        assert_eq!(tags("ko"), ["ko"]);
        assert_eq!(LanguageTag::new("pt-BR").unwrap().language(), "pt");
    }
}
