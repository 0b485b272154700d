//! How a prompt is cut for the tokenizer, so that no control token comes out of untrusted text.
//!
//! A tokenizer knows a text best in one piece, as it knew it in training. So what stands between two special tokens of the
//! template stays whole, except where untrusted text has a marker, or a part of one: that is spelled letter by letter. The
//! special tokens that are meant are found here and not by llama.cpp, which would take them from anywhere.

use std::ops::Range;

use llama_cpp_2::token::LlamaToken;

use super::{
    hidden::Piece,
    markers::{Markers, Special},
};

/// A part of the prompt that becomes tokens by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    /// A special token that the template means.
    Special(LlamaToken),
    /// Text as the model knew it in training.
    Text(String),
    /// Text of which each letter is a token of its own.
    Letters(String),
}

/// So many forged markers of a prompt are cut out; from then on all untrusted text is spelled, up to where a template's
/// text stands again. What lies between two of them would be read by itself, which takes llama.cpp 3 ms each time with the
/// slowest of its expressions.
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
    let (mut meant, mut spelled) = (meant.into_iter().peekable(), spelled.into_iter().peekable());
    let mut at = 0;
    loop {
        // They stand in different pieces, so the one that begins first ends first.
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

/// Where untrusted text is part of a marker, in order, each place once.
fn forged(whole: &str, untrusted: &[Range<usize>], markers: &Markers) -> Vec<Range<usize>> {
    let mut forged: Vec<Range<usize>> = Vec::new();
    for found in markers.occurrences(whole) {
        let first = untrusted.partition_point(|range| range.end <= found.start);
        let touched = untrusted[first..].iter().take_while(|range| range.start < found.end);
        for range in touched {
            let part = range.start.max(found.start)..range.end.min(found.end);
            // They come in the order of their ends: what is already inside of the last one is known.
            let is_known =
                forged.last().is_some_and(|last| last.start <= part.start && part.end <= last.end);
            if !is_known {
                forged.push(part);
            }
        }
    }
    joined(forged)
}

/// From the so many'th forged marker on, all that is left of untrusted text is spelled.
fn spell_from(count: usize, spelled: &mut Vec<Range<usize>>, untrusted: &[Range<usize>]) {
    let Some(from) = spelled.get(count).map(|range| range.start) else { return };
    spelled.truncate(count);
    let first = untrusted.partition_point(|range| range.end <= from);
    let rest = untrusted[first..].iter().map(|range| range.start.max(from)..range.end);
    spelled.extend(rest);
    *spelled = joined(std::mem::take(spelled));
}

/// The same places in order, those that touch as one.
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
    /// The special token before swallows the blanks behind it.
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

/// What C calls a blank, as llama.cpp does here.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

#[cfg(test)]
#[path = "tests/spans.rs"]
mod tests;
