//! Finds the call that a model writes as text if its server reads no calls. It is never shown as an
//! answer. Pure.

use std::mem;

/// The beginnings of a call in the forms that models were trained on, at the beginning of a line.
const MARKS: [&str; 13] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function_calls>",
    "<function=",
    "<start_function_call>",
    "<|tool_call",
    "<|python_tag|>",
    "<｜tool▁call",
    "<｜DSML｜",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "[TOOL_CALLS]",
];
/// Begins and ends a block of text that is shown as it is written, and so may speak of calls.
const FENCE: &str = "```";

/// Reads a text in pieces.
#[derive(Debug)]
pub(super) struct TextCall {
    /// What may be the beginning of a mark.
    held: String,
    is_at_line: bool,
    is_fenced: bool,
    /// The call, once a mark has come: all that follows.
    call: Option<String>,
}

impl Default for TextCall {
    fn default() -> Self {
        Self { held: String::new(), is_at_line: true, is_fenced: false, call: None }
    }
}

impl TextCall {
    /// Reads a piece, and returns what is certainly text.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut text = String::new();
        if let Some(call) = &mut self.call {
            call.push_str(piece);
            return text;
        }
        self.held.push_str(piece);
        loop {
            if mem::take(&mut self.is_at_line) {
                let begun = self.held.trim_start();
                if !self.is_fenced && MARKS.iter().any(|mark| begun.starts_with(mark)) {
                    self.call = Some(begun.to_owned());
                    self.held.clear();
                    return text;
                }
                if MARKS.iter().chain([&FENCE]).any(|mark| mark.starts_with(begun))
                    && begun != FENCE
                {
                    self.is_at_line = true;
                    return text;
                }
                self.is_fenced ^= begun.starts_with(FENCE);
            }
            let Some(end) = self.held.find('\n') else {
                text.push_str(&mem::take(&mut self.held));
                return text;
            };
            text.extend(self.held.drain(..=end));
            self.is_at_line = true;
        }
    }

    /// Returns what was held when the text ended, and the call.
    pub(super) fn end(&mut self) -> (String, Option<String>) {
        let Self { held, call, .. } = mem::take(self);
        (held, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text in two pieces, cut at each letter, and letter by letter: the same each time.
    fn read(text: &str) -> (String, Option<String>) {
        let of = |pieces: &[&str]| {
            let mut reader = TextCall::default();
            let said: String = pieces.iter().map(|piece| reader.push(piece)).collect();
            let (rest, call) = reader.end();
            (said + &rest, call)
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
    fn a_call_at_the_beginning_of_a_line_is_no_text_and_one_that_is_spoken_of_is() {
        for (text, said, call) in [
            ("<tool_call>\n{}\n</tool_call>", "", "<tool_call>\n{}\n</tool_call>"),
            ("I look.\n\n  <tool_call>{}", "I look.\n", "<tool_call>{}"),
            ("\n[TOOL_CALLS]look{}", "", "[TOOL_CALLS]look{}"),
            ("<|tool_calls_section_begin|>", "", "<|tool_calls_section_begin|>"),
            ("<｜tool▁calls▁begin｜>look", "", "<｜tool▁calls▁begin｜>look"),
            ("```\na\n```\n<function=look>", "```\na\n```\n", "<function=look>"),
        ] {
            assert_eq!(read(text), (said.to_owned(), Some(call.to_owned())), "{text:?}");
        }
        for text in [
            "",
            "Hello.\n\n",
            "A call is written as <tool_call>.",
            "```\n<tool_call>{}</tool_call>\n```",
            "<tool",
            "<b>bold</b>\n[TOOL]\n< a",
            "``\n`",
        ] {
            assert_eq!(read(text), (text.to_owned(), None), "{text:?}");
        }
    }
}
