//! Tells the thought at the beginning of a text from the text: many servers leave it there, in tags.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of a text or of a thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spoken {
    Text(String),
    Thought(String),
}

/// Reads a text in pieces.
#[derive(Debug, Default)]
pub(super) struct ThinkTag {
    part: Part,
    /// What may be the beginning of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Beginning,
    Thought,
    /// The blanks behind the thought.
    Behind,
    Text,
}

impl ThinkTag {
    /// Takes a piece, and gives what is known of it.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Spoken> {
        let mut spoken = Vec::new();
        self.held.push_str(piece);
        if let Part::Beginning = self.part {
            let begun = self.held.trim_start();
            if let Some(thought) = begun.strip_prefix(OPEN) {
                self.held = thought.to_owned();
                self.part = Part::Thought;
            } else if OPEN.starts_with(begun) {
                return spoken;
            } else {
                self.part = Part::Text;
            }
        }
        if let Part::Thought = self.part {
            if let Some((thought, behind)) = self.held.split_once(CLOSE) {
                spoken.push(Spoken::Thought(thought.to_owned()));
                self.held = behind.to_owned();
                self.part = Part::Behind;
            } else {
                let held = held_len(&self.held);
                let thought: String = self.held.drain(..self.held.len() - held).collect();
                spoken.push(Spoken::Thought(thought));
            }
        }
        if let Part::Behind = self.part {
            self.held = self.held.trim_start().to_owned();
            if !self.held.is_empty() {
                self.part = Part::Text;
            }
        }
        if let Part::Text = self.part {
            spoken.push(Spoken::Text(std::mem::take(&mut self.held)));
        }
        spoken
    }

    /// Gives what was held when the text ended.
    pub(super) fn end(&mut self) -> Spoken {
        let held = std::mem::take(&mut self.held);
        match self.part {
            Part::Thought => Spoken::Thought(held),
            Part::Beginning | Part::Behind | Part::Text => Spoken::Text(held),
        }
    }
}

/// The bytes at the end of a thought that may begin the closing tag.
fn held_len(thought: &str) -> usize {
    (1..CLOSE.len()).rev().find(|len| thought.ends_with(&CLOSE[..*len])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text in two pieces, cut at each letter, and byte by byte: the same each time.
    fn read(text: &str) -> (String, String) {
        let of = |pieces: &[&str]| {
            let mut tag = ThinkTag::default();
            let mut spoken: Vec<_> = pieces.iter().flat_map(|piece| tag.push(piece)).collect();
            spoken.push(tag.end());
            let (mut thought, mut said) = (String::new(), String::new());
            for part in spoken {
                match part {
                    Spoken::Text(text) => said.push_str(&text),
                    Spoken::Thought(text) => thought.push_str(&text),
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
