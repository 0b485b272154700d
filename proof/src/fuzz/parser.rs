//! Sends a model's text through the parser of tool calls: the same result for every split, nothing
//! invented, no end without an end.

use madang_parser::{
    Parser, Segment,
    family::{ENVELOPE, FAMILIES, HERMES},
};

/// Reads a byte for the family and the surroundings, a byte for the splits, and the rest as the
/// text.
pub(super) fn run(bytes: &[u8]) -> String {
    let Some((&[kind, split], rest)) = bytes.split_first_chunk() else {
        return "short".to_owned();
    };
    let text = String::from_utf8_lossy(rest);
    // Up to the ASCII digits the lowest bit decides, above them the upper half.
    let family = match (usize::from(kind >> 4).checked_sub(4), kind & 1) {
        (None, 0) => &HERMES,
        (None, _) => &ENVELOPE,
        (Some(at), _) => FAMILIES[at % FAMILIES.len()],
    };
    let stops: &'static [&'static str] =
        if kind & 2 == 0 { &[] } else { &["\nUser:", "<|im_end|>"] };
    let parser = Parser::new(family, stops);
    let parser = if kind & 4 == 0 { parser } else { parser.thinking() };
    let was_cut_off = kind & 8 != 0;
    let whole = parse(parser.clone(), [&*text], was_cut_off);
    assert_eq!(parse(parser, pieces(&text, split), was_cut_off), whole, "splits do not matter");
    // Text inside of a call may be written shorter than it is read; nothing else grows.
    let shown: usize = whole
        .iter()
        .map(|found| match found {
            Segment::Text(text) | Segment::Thinking(text) => text.len(),
            Segment::Call(_) | Segment::Malformed(_) => 0,
        })
        .sum();
    assert!(shown <= text.len(), "{shown} bytes of {}", text.len());
    let calls =
        whole.iter().filter(|found| matches!(found, Segment::Call(_) | Segment::Malformed(_)));
    let openings = family.marker().map_or(0, |marker| text.matches(marker).count());
    assert!(calls.count() <= text.matches(['{', '[', '(', '<']).count() + openings);
    whole.iter().take(12).map(letter).collect()
}

const fn letter(found: &Segment) -> char {
    match found {
        Segment::Text(_) => 't',
        Segment::Thinking(_) => 'h',
        Segment::Call(_) => 'c',
        Segment::Malformed(_) => 'm',
    }
}

fn parse<'a>(
    mut parser: Parser,
    pieces: impl IntoIterator<Item = &'a str>,
    was_cut_off: bool,
) -> Vec<Segment> {
    let mut found = Vec::new();
    for piece in pieces {
        let before = found.len();
        let had_stopped = parser.is_stopped();
        parser.push(piece, &mut found);
        assert!(!had_stopped || found.len() == before, "a stop is the end");
        assert!(parser.open_block().is_none() || !parser.is_stopped());
    }
    parser.finish(was_cut_off, &mut found);
    found
}

/// Splits the text into pieces of up to this many characters.
fn pieces(text: &str, split: u8) -> impl Iterator<Item = &str> {
    let size = 1 + usize::from(split) % 13;
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(size).collect();
    let last = text.len();
    let nexts: Vec<usize> = ends.iter().copied().skip(1).chain([last]).collect();
    ends.into_iter().zip(nexts).map(move |(begin, end)| &text[begin..end])
}
