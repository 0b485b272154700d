//! Finds a template's frame around the texts of a chat by a rendering, because each template may
//! use its own words.

use madang_actors::protocol::{CallId, PromptMessage};
use uuid::Uuid;

use super::{
    dialect::Dialect, hidden::Piece, markers::Markers, prompt::PromptWriter, template::LEAST_BYTES,
};

/// The most frames of a template. A usual template has a handful.
const FRAMES: usize = 64;
/// The longest frame. A longer line is an instruction, and to repeat it forges nothing.
const LONGEST: usize = 64;
/// The shortest frame. A shorter one counts only as a whole line.
const SHORTEST: usize = 3;

/// Finds the plain text that frames the messages of this dialect. Frames with a marker need no
/// guard of their own.
pub(super) fn frames(dialect: &Dialect, markers: &Markers) -> Vec<String> {
    let user = || PromptMessage::User { text: "a".into() };
    let said = || PromptMessage::Model { text: "b".into() };
    let call = PromptMessage::ToolCall {
        opaque: None,
        call: CallId::new(Uuid::nil()),
        name: "c".into(),
        arguments: "{}".into(),
        envelope: "{}".into(),
    };
    let writer = PromptWriter {
        dialect,
        markers,
        bos: "",
        eos: "",
        has_thinking: false,
        system: Some("s"),
        instructions: None,
        tools: &[],
        max_bytes: LEAST_BYTES,
    };
    let mut frames = Vec::new();
    // A template that refuses one of these chats may accept the other.
    for chat in [vec![user(), said(), user()], vec![user(), call, said(), user()]] {
        let Ok(prompt) = writer.write(&chat.iter().collect::<Vec<_>>()) else { continue };
        for piece in prompt.pieces {
            if let Piece::Trusted(text) = piece {
                frames.extend(plain(&text, markers).flat_map(lines));
            }
        }
    }
    frames.sort_unstable();
    frames.dedup();
    frames.truncate(FRAMES);
    frames
}

/// Returns the texts between special tokens.
fn plain<'a>(text: &'a str, markers: &'a Markers) -> impl Iterator<Item = &'a str> {
    let mut at = 0;
    let ends = text.len()..text.len();
    let ranges = markers.meant(text).map(|(range, _)| range).chain([ends]);
    ranges.map(move |range| {
        let before = &text[at..range.start];
        at = range.end;
        before
    })
}

/// Selects the lines that are frames. A single word is not one, since every word like it would be
/// suspicious. JSON is not one either.
fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive('\n').enumerate().filter_map(|(at, line)| {
        let frame = line.trim();
        let has_word = frame.contains(char::is_alphabetic);
        let has_mark = frame.contains(|letter: char| !letter.is_alphanumeric());
        if !has_word || frame.len() > LONGEST || frame.contains(['"', '{', '}']) {
            return None;
        }
        let is_line = at > 0 || text.starts_with('\n');
        match (has_mark, frame.len() < SHORTEST) {
            (true, false) => Some(frame.to_owned()),
            (true, true) if is_line => Some(format!("\n{frame}")),
            (false, _) if is_line && line.ends_with('\n') => Some(format!("\n{frame}\n")),
            (true, true) | (false, _) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::Gguf;

    fn learned(template: Option<&str>, specials: &[&str]) -> Vec<String> {
        let gguf = Gguf { chat_template: template.map(str::to_owned), ..Gguf::default() };
        let dialect = Dialect::detect(&gguf, &|text| specials.contains(&text));
        frames(&dialect, &Markers::of_texts(specials))
    }

    const TALK: &str = "{% for m in messages %}{{ '### ' + m.role | capitalize + ':\\n' + m.content + '\\n\\n' }}\
        {% endfor %}{{ '### Assistant:\\n' }}";

    #[test]
    fn frames_of_plain_words_are_learned_from_the_template() {
        let frames = learned(Some(TALK), &[]);
        for frame in ["### Assistant:", "### User:", "### System:"] {
            assert!(frames.iter().any(|known| known == frame), "{frame}: {frames:?}");
        }
    }

    #[test]
    fn a_model_without_a_template_has_frames_too() {
        assert!(learned(None, &[]).iter().any(|frame| frame == "Assistant:"));
    }

    #[test]
    fn what_special_tokens_guard_makes_no_word_suspicious() {
        let template = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}\
            {% endfor %}{{ '<|im_start|>assistant\\n' }}";
        assert_eq!(learned(Some(template), &["<|im_start|>", "<|im_end|>"]), [""; 0]);
        let without = learned(Some(template), &[]);
        assert!(without.iter().any(|frame| frame.contains("<|im_start|>")), "{without:?}");
    }

    #[test]
    fn a_word_or_a_letter_is_a_frame_only_where_it_is_a_line() {
        let found: Vec<String> = lines("\nHuman\n Q: \nassistant").collect();
        assert_eq!(found, ["\nHuman\n", "\nQ:"]);
        assert_eq!(lines("user\n").count(), 0);
    }
}
