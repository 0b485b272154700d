//! Separates the thought at the beginning of a text from the text. Many servers leave it there, in
//! tags. If a prompt opened the tag, only its end is in the text.

use std::mem;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of a text or of a thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spoken {
    Text(String),
    Thought(String),
    /// All text so far was a thought: a tag closes what none had opened.
    WasThought,
    /// All thoughts so far were this text: no tag closed what none had opened.
    WasText(String),
}

/// Reads a text in pieces.
#[derive(Debug, Default)]
pub(super) struct ThinkTag {
    part: Part,
    /// Whether a thought is expected that no tag opens.
    is_opened_before: bool,
    /// What may be the beginning of a tag.
    held: String,
    /// The thought so far that no tag opened.
    unopened: String,
    /// The last letter of the text so far.
    last: Option<char>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Beginning,
    Thought,
    /// A thought that no tag opened, if a tag closes it.
    Unopened,
    /// The blanks after the thought.
    Behind,
    /// A text that may be a thought, if a tag closes it.
    Text,
    /// A text in which tags mean nothing.
    Rest,
}

impl ThinkTag {
    /// Reads the text of a server whose prompts open the thought.
    pub(super) fn opened_before(is_opened_before: bool) -> Self {
        Self { is_opened_before, ..Self::default() }
    }

    /// Reads a piece, and returns what is known of it.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Spoken> {
        let mut spoken = Vec::new();
        self.held.push_str(piece);
        while let Some(next) = self.step(&mut spoken) {
            self.part = next;
        }
        spoken
    }

    /// Returns what was held when the text ended.
    pub(super) fn end(&mut self) -> Spoken {
        let held = mem::take(&mut self.held);
        match self.part {
            Part::Thought => Spoken::Thought(held),
            Part::Unopened => Spoken::WasText(mem::take(&mut self.unopened) + &held),
            Part::Beginning | Part::Behind | Part::Text | Part::Rest => Spoken::Text(held),
        }
    }

    /// Reads what is held of a part. Returns the part that begins after it, if that has come.
    fn step(&mut self, spoken: &mut Vec<Spoken>) -> Option<Part> {
        match self.part {
            Part::Beginning => {
                let begun = self.held.trim_start();
                if let Some(thought) = begun.strip_prefix(OPEN) {
                    self.held = thought.to_owned();
                    return Some(Part::Thought);
                }
                let next = if self.is_opened_before { Part::Unopened } else { Part::Text };
                (!OPEN.starts_with(begun)).then_some(next)
            }
            Part::Thought | Part::Unopened => {
                if let Some((thought, behind)) = self.held.split_once(CLOSE) {
                    spoken.push(Spoken::Thought(thought.to_owned()));
                    self.held = behind.to_owned();
                    return Some(Part::Behind);
                }
                let thought = self.released();
                if let Part::Unopened = self.part {
                    self.unopened.push_str(&thought);
                }
                spoken.push(Spoken::Thought(thought));
                None
            }
            Part::Behind => {
                self.held = self.held.trim_start().to_owned();
                (!self.held.is_empty()).then_some(Part::Rest)
            }
            Part::Text => self.text(spoken),
            Part::Rest => {
                spoken.push(Spoken::Text(mem::take(&mut self.held)));
                None
            }
        }
    }

    /// Reads a text up to the first tag. One that opens, or is quoted, is what the text speaks of.
    fn text(&mut self, spoken: &mut Vec<Spoken>) -> Option<Part> {
        let open = self.held.find(OPEN);
        let Some(close) = self.held.find(CLOSE).filter(|close| open.is_none_or(|at| *close < at))
        else {
            if open.is_some() {
                return Some(Part::Rest);
            }
            let text = self.released();
            self.last = text.chars().next_back().or(self.last);
            spoken.push(Spoken::Text(text));
            return None;
        };
        let before = self.held[..close].chars().next_back().or(self.last);
        if matches!(before, Some('`' | '"' | '\'')) {
            return Some(Part::Rest);
        }
        spoken.push(Spoken::Text(self.held[..close].to_owned()));
        spoken.push(Spoken::WasThought);
        self.held.drain(..close + CLOSE.len());
        Some(Part::Behind)
    }

    /// Releases what is held but for what may begin a tag.
    fn released(&mut self) -> String {
        let may_begin = |len: &usize| {
            [OPEN, CLOSE].iter().any(|tag| {
                tag.get(..*len).is_some_and(|begin| *len < tag.len() && self.held.ends_with(begin))
            })
        };
        let held = (1..CLOSE.len()).rev().find(may_begin).unwrap_or(0);
        self.held.drain(..self.held.len() - held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text in two pieces, cut at each letter, and byte by byte: the same each time.
    fn read_by(text: &str, is_opened_before: bool) -> (String, String) {
        let of = |pieces: &[&str]| {
            let mut tag = ThinkTag::opened_before(is_opened_before);
            let mut spoken: Vec<_> = pieces.iter().flat_map(|piece| tag.push(piece)).collect();
            spoken.push(tag.end());
            let mut thought = String::new();
            let mut said = String::new();
            for part in spoken {
                match part {
                    Spoken::Text(text) => said.push_str(&text),
                    Spoken::Thought(text) => thought.push_str(&text),
                    Spoken::WasThought => thought.push_str(&mem::take(&mut said)),
                    Spoken::WasText(text) => {
                        thought.clear();
                        said.push_str(&text);
                    }
                }
            }
            (thought, said)
        };
        let whole = of(&[text]);
        for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            assert_eq!(of(&[&text[..cut], &text[cut..]]), whole, "{text:?} cut at {cut}");
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(of(&letters.iter().map(String::as_str).collect::<Vec<_>>()), whole, "{text:?}");
        whole
    }

    fn read(text: &str) -> (String, String) {
        read_by(text, false)
    }

    #[test]
    fn a_thought_that_no_tag_opens_ends_where_one_closes() {
        for (text, thought, said) in [
            ("Hm.\n</think>\n\nHello.", "Hm.\n", "Hello."),
            ("Hm, a < b.</think>Hello, </think>.", "Hm, a < b.", "Hello, </think>."),
            ("</think>Hello.", "", "Hello."),
            ("Hm.</think>", "Hm.", ""),
            ("I close it by `</think>`.", "", "I close it by `</think>`."),
            ("Write <think> and </think>.", "", "Write <think> and </think>."),
            ("Hello.</thin", "", "Hello.</thin"),
        ] {
            assert_eq!(read(text), (thought.to_owned(), said.to_owned()), "{text:?}");
        }
        for (text, thought, said) in [
            ("Hm.</think>Hello.", "Hm.", "Hello."),
            ("<think>Hm.</think>Hello.", "Hm.", "Hello."),
            ("Hello.</thin", "", "Hello.</thin"),
            ("", "", ""),
        ] {
            let expected = (thought.to_owned(), said.to_owned());
            assert_eq!(read_by(text, true), expected, "{text:?}");
        }
    }

    #[test]
    fn a_thought_at_the_beginning_is_no_text_and_tags_elsewhere_are() {
        for (text, thought, said) in [
            ("Hello.", "", "Hello."),
            ("<think>Hm.</think>Hello.", "Hm.", "Hello."),
            ("\n<think>\nHm, a < b.\n</think>\n\nHello.\n", "\nHm, a < b.\n", "Hello.\n"),
            ("<think></think>Hello.", "", "Hello."),
            ("<think>Hm.</thi", "Hm.</thi", ""),
            ("<think>한.</think>안녕.", "한.", "안녕."),
            ("<thi", "", "<thi"),
            ("<b>Hello.</b>", "", "<b>Hello.</b>"),
            ("I write <think>x</think>.", "", "I write <think>x</think>."),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("", "", ""),
        ] {
            assert_eq!(read(text), (thought.to_owned(), said.to_owned()), "{text:?}");
        }
    }
}
