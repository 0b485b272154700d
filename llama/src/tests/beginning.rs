//! Tests that the beginning is the same for all, whatever text follows.

use proptest::prelude::*;

use super::*;

/// Tokenizes like a real tokenizer that joins blanks with the next word, lines, and pairs of a
/// letter. It has a token for the beginning, and one for each mark.
fn tokenize(pieces: &[Piece], part: Part) -> Vec<String> {
    let text = text(pieces);
    let mut tokens: Vec<String> = Vec::new();
    for letter in text.chars() {
        let joins = |last: &String| {
            let end = last.chars().next_back();
            match letter {
                '>' | '<' => false,
                '\n' => end == Some('\n'),
                ' ' => false,
                _ if end == Some(' ') => true,
                _ => end == Some(letter) && last.chars().count() < 2,
            }
        };
        match tokens.last_mut() {
            Some(last) if joins(last) => last.push(letter),
            Some(_) | None => tokens.push(letter.to_string()),
        }
    }
    if part == Part::First {
        tokens.insert(0, "BOS".to_owned());
    }
    tokens
}

fn prompt(beginning: &str, words: &str) -> Vec<Piece> {
    vec![
        Piece::Trusted(beginning.to_owned()),
        Piece::Untrusted(words.to_owned()),
        Piece::Trusted("</s>".to_owned()),
    ]
}

fn of(beginning: &str) -> Beginning<String> {
    let chats: Vec<Vec<Piece>> = WORDS.iter().map(|word| prompt(beginning, word)).collect();
    Beginning::of(&chats, &tokenize)
}

#[test]
fn a_beginning_ends_where_usual_words_do_not_join_it() {
    for (beginning, ends) in [
        ("<s>system</s><s>user\n", "<s>system</s><s>user\n"),
        // The blank belongs to the next word.
        ("<s>system [INST] ", "<s>system [INST]"),
        // So does the first letter of the words here, in this tokenizer.
        ("<s>system</s>a", "<s>system</s>"),
        ("", ""),
    ] {
        assert_eq!(of(beginning).text, ends, "{beginning:?}");
    }
    assert_eq!(Beginning::of(&[], &tokenize), Beginning::NONE);
}

#[test]
fn words_that_would_join_the_beginning_are_cut_from_it() {
    let beginning = of("<s>user\n");
    let shared = beginning.tokens.len();
    let (usual, count) = beginning.tokens(&prompt("<s>user\n", "hello"), &tokenize);
    assert_eq!((usual, count), (tokenize(&prompt("<s>user\n", "hello"), Part::First), shared));
    let (tokens, count) = beginning.tokens(&prompt("<s>user\n", "\nhello"), &tokenize);
    assert_eq!((&tokens[..shared], count), (&*beginning.tokens, shared));
    assert_eq!(tokens[shared], "\n", "it would be one with the line before it");
}

#[test]
fn a_prompt_that_begins_otherwise_shares_nothing() {
    let beginning = of("<s>system</s><s>user\n");
    for other in ["<s>system</s><s>user", "<s>system", "<s>other</s><s>user\n", "가"] {
        let other = [Piece::Trusted(other.to_owned())];
        assert_eq!(beginning.tokens(&other, &tokenize), (tokenize(&other, Part::First), 0));
    }
}

proptest! {
    #[test]
    fn all_of_the_beginning_is_shared_with_any_text_behind_it(
        beginning in "(<s>|system|aa|\n| |가){0,5}",
        words in "(a|가|1|\n| |<|</s>|b){0,5}",
    ) {
        let known = of(&beginning);
        let prompt = prompt(&beginning, &words);
        let (tokens, shared) = known.tokens(&prompt, &tokenize);
        prop_assert_eq!(shared, known.tokens.len());
        prop_assert_eq!(&tokens[..shared], &*known.tokens);
        let spelled: String = tokens.iter().filter(|token| *token != "BOS").map(String::as_str).collect();
        prop_assert_eq!(spelled, text(&prompt));
    }
}
