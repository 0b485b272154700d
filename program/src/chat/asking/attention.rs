//! Decides which keys are an answer: one pressed after the whole question was shown and a silence,
//! never one typed ahead.
//!
//! A state machine without a clock; the keyboard reports silences.

/// Interrupts, whatever is typed before it.
const CONTROL_C: char = '\u{3}';

/// The meaning of a key while a question is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Key {
    Yes,
    /// Approve, and do not ask about this tool in this chat again; its letter, then Enter.
    Always,
    No,
    /// Deny, with a message to the model.
    Message,
    /// Approve, with changed arguments.
    Edit,
    /// Ctrl-C or Ctrl-D.
    Interrupt,
}

/// A part of a question to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Part {
    /// The next page.
    Page,
    /// The last page.
    End,
    /// The possible answers. Keys count from now on.
    Prompt,
    /// What a standing approval means, and that Enter gives it. Keys count from now on.
    StandingApproval,
}

/// The effect of a key or a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    Show(Part),
    Answer(Key),
}

/// The stage of a question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// More pages follow.
    Reading,
    /// All pages were shown; whether the possible answers were shown too.
    Answerable { is_prompted: bool },
    /// "Always" was pressed; whether the meaning of a standing approval was shown.
    ApprovingAlways { is_prompted: bool },
}

#[derive(Debug)]
pub(super) struct Attention {
    stage: Stage,
}

impl Attention {
    /// Starts with the first page of the question.
    pub(super) const fn to_a_question(has_more: bool) -> Self {
        let mut attention = Self { stage: Stage::Reading };
        attention.shown(has_more);
        attention
    }

    /// Notes that a page was shown.
    pub(super) const fn shown(&mut self, has_more: bool) {
        self.stage =
            if has_more { Stage::Reading } else { Stage::Answerable { is_prompted: false } };
    }

    /// Notes a long enough silence.
    pub(super) const fn silence(&mut self) -> Step {
        match self.stage {
            Stage::Answerable { is_prompted: false } => {
                self.stage = Stage::Answerable { is_prompted: true };
                Step::Show(Part::Prompt)
            }
            Stage::ApprovingAlways { is_prompted: false } => {
                self.stage = Stage::ApprovingAlways { is_prompted: true };
                Step::Show(Part::StandingApproval)
            }
            Stage::Reading | Stage::Answerable { .. } | Stage::ApprovingAlways { .. } => {
                Step::Nothing
            }
        }
    }

    /// Takes the text that was typed at once, and whether a silence preceded it. More than one key
    /// was pasted, or typed by a person that is still writing, and answers nothing.
    pub(super) fn typed(&mut self, text: &str, was_silent: bool) -> Step {
        let mut letters = text.chars();
        let (Some(letter), rest) = (letters.next(), letters.as_str()) else { return Step::Nothing };
        // While a syllable is composed, only Enter releases the letter.
        let is_one = rest.is_empty() || is_enter(rest);
        let key = meaning(letter);
        if text.contains(CONTROL_C) || key == Some(Key::Interrupt) && is_one {
            return Step::Answer(Key::Interrupt);
        }
        match self.stage {
            Stage::Reading if is_one && (is_enter(text) || letter == ' ') => Step::Show(Part::Page),
            Stage::Reading if is_one && matches!(letter, 'g' | 'G' | 'ㅎ') => {
                Step::Show(Part::End)
            }
            Stage::ApprovingAlways { is_prompted: true } if was_silent && is_enter(text) => {
                Step::Answer(Key::Always)
            }
            Stage::ApprovingAlways { .. } => {
                self.stage = Stage::Answerable { is_prompted: false };
                Step::Nothing
            }
            Stage::Answerable { is_prompted: false } => Step::Nothing,
            Stage::Reading | Stage::Answerable { .. } => match key {
                Some(key @ (Key::No | Key::Message)) if is_one && was_silent => Step::Answer(key),
                Some(key @ (Key::Yes | Key::Edit))
                    if is_one && was_silent && self.is_complete() =>
                {
                    Step::Answer(key)
                }
                Some(Key::Always) if is_one && was_silent && self.is_complete() => {
                    self.stage = Stage::ApprovingAlways { is_prompted: false };
                    Step::Nothing
                }
                Some(_) | None => Step::Nothing,
            },
        }
    }

    const fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Answerable { .. })
    }
}

/// Returns the meaning of a key. The letters on the same keys of a Korean keyboard count too, so
/// that no person must switch first.
const fn meaning(letter: char) -> Option<Key> {
    match letter {
        CONTROL_C | '\u{4}' => Some(Key::Interrupt),
        'y' | 'Y' | 'ㅛ' => Some(Key::Yes),
        'a' | 'A' | 'ㅁ' => Some(Key::Always),
        'n' | 'N' | 'ㅜ' => Some(Key::No),
        'm' | 'M' | 'ㅡ' => Some(Key::Message),
        'e' | 'E' | 'ㄷ' | 'ㄸ' => Some(Key::Edit),
        _ => None,
    }
}

fn is_enter(text: &str) -> bool {
    matches!(text, "\r" | "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompted() -> Attention {
        let mut attention = Attention::to_a_question(false);
        assert_eq!(attention.silence(), Step::Show(Part::Prompt));
        attention
    }

    const ANSWERS: [(&str, Key); 5] = [
        ("yYㅛ", Key::Yes),
        ("nNㅜ", Key::No),
        ("mMㅡ", Key::Message),
        ("eEㄷㄸ", Key::Edit),
        ("\u{3}\u{4}", Key::Interrupt),
    ];

    #[test]
    fn every_key_of_both_keyboards_answers_behind_the_prompt_and_a_silence() {
        for (letters, key) in ANSWERS {
            for letter in letters.chars() {
                for typed in [format!("{letter}"), format!("{letter}\r")] {
                    assert_eq!(prompted().typed(&typed, true), Step::Answer(key), "{typed:?}");
                }
            }
        }
    }

    #[test]
    fn no_key_but_an_interrupt_answers_before_the_prompt_or_without_a_silence() {
        for letter in "yYㅛnNㅜmMㅡeEㄷㄸaAㅁ".chars() {
            for was_silent in [false, true] {
                let mut attention = Attention::to_a_question(false);
                assert_eq!(attention.typed(&letter.to_string(), was_silent), Step::Nothing);
                assert_eq!(attention.silence(), Step::Show(Part::Prompt));
            }
            let mut attention = prompted();
            assert_eq!(attention.typed(&letter.to_string(), false), Step::Nothing, "{letter}");
            assert_eq!(attention.silence(), Step::Nothing, "nothing was pending");
        }
        for interrupt in ["\u{3}", "\u{4}", "what\u{3}"] {
            let step = Attention::to_a_question(false).typed(interrupt, false);
            assert_eq!(step, Step::Answer(Key::Interrupt), "{interrupt:?}");
        }
    }

    #[test]
    fn what_is_typed_or_pasted_as_a_word_answers_nothing() {
        for text in
            ["yes", "and then plan my day\r", "\u{1b}[A", "y\r\r", "ㅛㅛ", "\r", "x", " ", ""]
        {
            assert_eq!(prompted().typed(text, true), Step::Nothing, "{text:?}");
        }
    }

    #[test]
    fn always_is_its_letter_then_enter_each_behind_a_silence() {
        for letter in ["a", "A", "ㅁ", "a\r"] {
            let mut attention = prompted();
            assert_eq!(attention.typed(letter, true), Step::Nothing);
            assert_eq!(attention.silence(), Step::Show(Part::StandingApproval));
            assert_eq!(attention.typed("\r", true), Step::Answer(Key::Always), "{letter}");
        }
        for (other, was_silent) in [("\r", false), ("y", true), ("a", true), ("nd\r", true)] {
            let mut attention = prompted();
            attention.typed("a", true);
            attention.silence();
            assert_eq!(attention.typed(other, was_silent), Step::Nothing, "{other:?}");
            // Any other key cancels it, and the question is asked again.
            assert_eq!(attention.silence(), Step::Show(Part::Prompt));
            assert_eq!(attention.typed("y", true), Step::Answer(Key::Yes));
        }
        let mut attention = prompted();
        attention.typed("a", true);
        assert_eq!(attention.typed("\r", true), Step::Nothing, "not confirmed before it is asked");
    }

    #[test]
    fn before_the_last_page_only_a_no_is_an_answer() {
        for (letters, key) in ANSWERS {
            for letter in letters.chars() {
                let expected = match key {
                    Key::Yes | Key::Edit | Key::Always => Step::Nothing,
                    Key::No | Key::Message | Key::Interrupt => Step::Answer(key),
                };
                let mut attention = Attention::to_a_question(true);
                assert_eq!(attention.silence(), Step::Nothing);
                assert_eq!(attention.typed(&letter.to_string(), true), expected, "{letter}");
            }
        }
        let mut attention = Attention::to_a_question(true);
        for next in ["\r", " "] {
            assert_eq!(attention.typed(next, false), Step::Show(Part::Page));
            attention.shown(true);
            assert_eq!(attention.typed("a", true), Step::Nothing);
        }
        assert_eq!(attention.typed("g", false), Step::Show(Part::End));
        attention.shown(false);
        assert_eq!(attention.typed("y", true), Step::Nothing, "not told yet how to answer");
        assert_eq!(attention.silence(), Step::Show(Part::Prompt));
        assert_eq!(attention.typed("y", true), Step::Answer(Key::Yes));
    }
}
