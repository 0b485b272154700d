//! Cuts text before llama.cpp reads it, so that no text is too long for it.
//!
//! For most vocabularies llama.cpp finds words with `std::regex` of the C++ library, which recurses
//! once for each character of a match, so one long match is one long recursion. With libstdc++ a
//! character takes some 320 bytes of stack, as measured with every pre-tokenizer of llama.cpp.
//! Expressions that look ahead after each digit take quadratic time.

/// The most characters of a piece. They take at most 1.3 MiB of stack, and 14 ms with the slowest
/// expressions. A page has half as many, so an ordinary question is one piece.
pub(super) const PIECE: usize = 4_096;
/// The most digits in a row. With the slowest expressions they take 2 ms, while 4,096 take 1.7 s.
pub(super) const DIGITS: usize = 256;
/// The stack of a thread that reads text. It is twelve times what [`PIECE`] characters need, for
/// other C++ libraries and builds.
pub(super) const STACK_BYTES: usize = 16 << 20;

/// Cuts a text into pieces for llama.cpp, without loss. A cut is between words if the second half
/// of a piece has such a position, and it then leaves the tokens unchanged.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(first_cut(rest));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the end of the first piece.
fn first_cut(text: &str) -> usize {
    // Most texts are short and need no search.
    if text.len() <= DIGITS {
        return text.len();
    }
    let mut last = [' ', ' '];
    let mut digits = 0;
    let mut parting = None;
    for (count, (at, letter)) in text.char_indices().enumerate() {
        digits = if letter.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > DIGITS {
            return at;
        }
        let next = text[at + letter.len_utf8()..].chars().next().unwrap_or(' ');
        if count > PIECE / 2 && parts(last, letter, next) {
            parting = Some(at);
        }
        if count == PIECE {
            return parting.unwrap_or(at);
        }
        last = [last[1], letter];
    }
    text.len()
}

/// Returns whether words part before this character: after a line, before the blank of the next
/// word, or after a sentence without blanks.
fn parts([_, before]: [char; 2], letter: char, next: char) -> bool {
    let is_line = before == '\n' && !letter.is_whitespace();
    let is_word = letter == ' ' && !before.is_whitespace() && next.is_alphanumeric();
    let is_sentence = matches!(before, '。' | '、' | '，' | '！' | '？') && letter.is_alphabetic();
    is_line || is_word || is_sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(text: &str) -> Vec<usize> {
        pieces(text).map(|piece| piece.chars().count()).collect()
    }

    #[test]
    fn an_ordinary_text_stays_whole() {
        let text = "A sentence with some words, and 123 more. ".repeat(90);
        assert_eq!(pieces(&text).collect::<Vec<_>>(), [&*text]);
        assert_eq!(pieces("").count(), 0);
    }

    #[test]
    fn no_piece_is_too_long_and_together_they_are_the_text() {
        let kinds = ["a", "가", " ", "\n", "😀", "!", "word ", "1", "1a", "文字。", "e\u{301}"];
        for kind in kinds {
            let text = kind.repeat(65_536 / kind.len());
            assert_eq!(pieces(&text).collect::<String>(), text);
            let most = if kind == "1" { DIGITS } else { PIECE };
            let lens = lens(&text);
            assert!(lens.iter().all(|len| *len <= most), "{kind:?}: {lens:?}");
            assert!(lens.len() <= 1 + 2 * 65_536 / kind.len() * kind.chars().count() / most);
        }
    }

    #[test]
    fn a_long_text_is_cut_where_its_words_part() {
        let words = "word ".repeat(2_000);
        assert!(pieces(&words).skip(1).all(|piece| piece.starts_with(" word")));
        let lines = "some text\n".repeat(1_000);
        assert!(
            pieces(&lines)
                .skip(1)
                .all(|piece| piece.starts_with("some") || piece.starts_with(" text"))
        );
        let sentences = "文字文字。".repeat(2_000);
        assert!(pieces(&sentences).skip(1).all(|piece| piece.starts_with('文')));
    }

    #[test]
    fn a_longer_text_begins_with_the_same_pieces() {
        let text = "Some words that go on. ".repeat(900);
        let whole: Vec<&str> = pieces(&text).collect();
        let shorter = pieces(&text[..text.len() - 5_000]).collect::<Vec<_>>();
        assert_eq!(whole[..shorter.len() - 1], shorter[..shorter.len() - 1]);
    }
}
