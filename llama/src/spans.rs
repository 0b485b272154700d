//! Cuts a prompt for the tokenizer so that no control token comes out of untrusted text.
//!
//! A tokenizer reads a text best in one piece, as in training. So text between two special tokens
//! of the template stays whole. But untrusted text that is a marker, or a part of one, is spelled
//! character by character. Intended special tokens are found here, and not by llama.cpp, which
//! would find them anywhere.

use std::ops::Range;

use llama_cpp_2::token::LlamaToken;

use super::{
    hidden::Piece,
    markers::{Markers, Special},
};

/// A part of the prompt that is tokenized alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    /// A special token of the template.
    Special(LlamaToken),
    /// Text that is read as in training.
    Text(String),
    /// Text in tokens of single letters.
    Letters(String),
}

/// How many forged markers of a prompt are cut out one by one. After these, all untrusted text is
/// spelled up to the template's next text. Without this bound, each piece in between could cost 3
/// ms.
const FORGED: usize = 64;

/// Cuts a prompt.
pub(super) fn spans(pieces: &[Piece], markers: &Markers) -> Vec<Span> {
    let whole: String = pieces.iter().map(Piece::text).collect();
    let mut untrusted: Vec<Range<usize>> = Vec::new();
    let mut meant: Vec<(Range<usize>, &Special)> = Vec::new();
    let mut at = 0;
    for piece in pieces {
        let end = at + piece.text().len();
        match piece {
            Piece::Untrusted(_) => untrusted.push(at..end),
            Piece::Trusted(text) => {
                let found = markers.meant(text);
                let here = |range: Range<usize>| at + range.start..at + range.end;
                meant.extend(found.map(|(range, special)| (here(range), special)));
            }
        }
        at = end;
    }
    let mut spelled = forged(&whole, &untrusted, markers);
    spell_from(FORGED, &mut spelled, &untrusted);
    let mut writer = Writer::default();
    let mut meant = meant.into_iter().peekable();
    let mut spelled = spelled.into_iter().peekable();
    let mut at = 0;
    loop {
        // They are in different pieces, so the one that begins first ends first.
        let is_meant = match (meant.peek(), spelled.peek()) {
            (Some((special, _)), Some(letters)) => special.start < letters.start,
            (is_meant, _) => is_meant.is_some(),
        };
        let range = if is_meant {
            meant.next().map(|(range, special)| (range, Some(special)))
        } else {
            spelled.next().map(|range| (range, None))
        };
        let Some((range, special)) = range else { break };
        writer.text(&whole[at..range.start]);
        at = range.end;
        match special {
            Some(special) => writer.special(special),
            None => writer.spans.push(Span::Letters(whole[range].to_owned())),
        }
    }
    writer.text(&whole[at..]);
    writer.spans
}

/// Finds the ranges in which untrusted text is part of a marker, in order and without overlaps.
fn forged(whole: &str, untrusted: &[Range<usize>], markers: &Markers) -> Vec<Range<usize>> {
    let mut forged: Vec<Range<usize>> = Vec::new();
    for found in markers.occurrences(whole) {
        let first = untrusted.partition_point(|range| range.end <= found.start);
        let touched = untrusted[first..].iter().take_while(|range| range.start < found.end);
        for range in touched {
            let part = range.start.max(found.start)..range.end.min(found.end);
            // In the order of their ends, an overlap is inside of the last range.
            let is_known =
                forged.last().is_some_and(|last| last.start <= part.start && part.end <= last.end);
            if !is_known {
                forged.push(part);
            }
        }
    }
    joined(forged)
}

/// Spells the rest of the untrusted text from this forged marker on.
fn spell_from(count: usize, spelled: &mut Vec<Range<usize>>, untrusted: &[Range<usize>]) {
    let Some(from) = spelled.get(count).map(|range| range.start) else { return };
    spelled.truncate(count);
    let first = untrusted.partition_point(|range| range.end <= from);
    let rest = untrusted[first..].iter().map(|range| range.start.max(from)..range.end);
    spelled.extend(rest);
    *spelled = joined(std::mem::take(spelled));
}

/// Joins ranges that touch.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => joined.push(range),
        }
    }
    joined
}

#[derive(Default)]
struct Writer {
    spans: Vec<Span>,
    /// Whether the special token before it swallows the blanks that follow.
    strips: bool,
}

impl Writer {
    fn text(&mut self, text: &str) {
        let text = if self.strips { text.trim_start_matches(is_space) } else { text };
        if !text.is_empty() {
            self.strips = false;
            self.spans.push(Span::Text(text.to_owned()));
        }
    }

    fn special(&mut self, special: &Special) {
        let [before, behind] = special.strips;
        if before && let Some(Span::Text(text)) = self.spans.last_mut() {
            text.truncate(text.trim_end_matches(is_space).len());
            if text.is_empty() {
                self.spans.pop();
            }
        }
        self.strips = behind;
        self.spans.push(Span::Special(special.token));
    }
}

/// Returns whether a character is a blank, as C and llama.cpp have it.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

#[cfg(test)]
#[path = "tests/spans.rs"]
mod tests;
