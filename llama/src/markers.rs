//! Finds the texts that mean something for a model, in one pass over any text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use llama_cpp_2::token::LlamaToken;

use super::hidden;

/// A token with a meaning of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Special {
    pub(super) text: String,
    pub(super) token: LlamaToken,
    /// Whether it swallows the blanks before it, and those after it.
    pub(super) strips: [bool; 2],
}

/// The markers of a model: its special tokens, and the other frames of its messages.
#[derive(Debug)]
pub(super) struct Markers {
    specials: Vec<Special>,
    /// Finds intended special tokens: the first one, and the longest of those that begin there.
    meant: AhoCorasick,
    /// Finds every marker, even if two overlap.
    all: AhoCorasick,
}

impl Markers {
    /// Builds the searches. Returns `None` if the markers are too many.
    pub(super) fn new(
        mut specials: Vec<Special>,
        frames: impl IntoIterator<Item = String>,
    ) -> Option<Self> {
        specials.retain(|special| !special.text.is_empty());
        let mut texts: Vec<String> =
            frames.into_iter().filter(|frame| !frame.trim().is_empty()).collect();
        texts.extend(specials.iter().map(|special| special.text.clone()));
        texts.sort_unstable();
        texts.dedup();
        let names = specials.iter().map(|special| &special.text);
        let meant =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(names).ok()?;
        let all = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts).ok()?;
        Some(Self { specials, meant, all })
    }

    /// Returns whether a text must be hidden from a template, because it contains a marker or a
    /// mark of `hidden`.
    pub(super) fn suspects(&self, text: &str) -> bool {
        self.all.is_match(text) || hidden::has_marks(text)
    }

    /// Lists the markers in a text in the order of their ends.
    pub(super) fn occurrences<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        self.all.find_overlapping_iter(text).map(|found| found.range())
    }

    /// Lists the intended special tokens of a text.
    pub(super) fn meant<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (Range<usize>, &'a Special)> + 'a {
        let special = |found: aho_corasick::Match| {
            (found.range(), &self.specials[found.pattern().as_usize()])
        };
        self.meant.find_iter(text).map(special)
    }

    /// Builds the markers of a vocabulary without special tokens.
    #[cfg(test)]
    pub(super) fn of_texts<T: ToString>(texts: impl IntoIterator<Item = T>) -> Self {
        let specials = (1_000..).zip(texts).map(|(token, text)| Special {
            text: text.to_string(),
            token: LlamaToken(token),
            strips: [false; 2],
        });
        Self::new(specials.collect(), []).expect("the markers of a test are few")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_markers_that_begin_together_the_longest_is_meant_and_all_are_found() {
        let markers = Markers::of_texts(["<a>", "<a><b>", "a>"]);
        let meant: Vec<&str> =
            markers.meant("x<a><b><a>").map(|(_, special)| special.text.as_str()).collect();
        assert_eq!(meant, ["<a><b>", "<a>"]);
        assert_eq!(markers.occurrences("x<a><b>").count(), 3);
        assert!(markers.suspects("xa>") && !markers.suspects("a"));
    }

    #[test]
    fn our_own_marks_are_suspected_in_every_text() {
        let markers = Markers::of_texts(["<a>"]);
        for mark in ['\u{fdd0}', '\u{fdd1}', '\u{fdd2}'] {
            assert!(markers.suspects(&format!("x{mark}")), "{mark:?}");
        }
    }
}
