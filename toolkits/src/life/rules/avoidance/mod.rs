//! R7: requires that a framed text says what to do, and not what to avoid.
//!
//! The text is folded and its words are set apart by single blanks. First, phrases that only look
//! like avoidance are removed. Then the English list is searched for whole phrases, and the Korean
//! one for parts of words. Finally the negation `안` is looked for before a verb. `words` has all
//! lists, and the README of the toolkit shows them.
//!
//! Invariants:
//! - Both lists apply to every text, in whatever language it is.
//! - Case, the form of an apostrophe, spacing, invisible characters and decomposed Hangul make no
//!   difference.
//! - The verdict names a wording of the list, and never a part of the person's text.
mod words;

use super::{
    super::fold::{ends_in_mieum, fold},
    LifeViolation,
};
use words::{ENGLISH, HARMLESS, INSIDE, JOINED_NEGATIONS, KOREAN, VERB_ENDINGS};

/// Judges a framed text by a list of avoidance wording, Korean and English.
///
/// # Errors
/// Returns [`LifeViolation::Avoidance`] with the first wording of the list that is in the text.
pub fn detect_avoidance(text: &str) -> Result<(), LifeViolation> {
    let text = without_harmless(spaced(text));
    let found = ENGLISH
        .iter()
        .find(|phrase| has_phrase(&text, phrase))
        .or_else(|| KOREAN.iter().find(|part| text.contains(**part)))
        .copied()
        .or_else(|| korean_negation(&text));
    found.map_or(Ok(()), |found| Err(LifeViolation::Avoidance { found }))
}

/// Folds the text and puts one space around every word, so that phrases can be searched as text.
fn spaced(text: &str) -> String {
    let folded = fold(text);
    let mut words = String::from(" ");
    for word in folded.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        let word = word.trim_matches('\'');
        if !word.is_empty() {
            words.push_str(word);
            words.push(' ');
        }
    }
    words
}

/// Removes phrases that only look like avoidance.
fn without_harmless(mut text: String) -> String {
    for phrase in HARMLESS {
        if phrase.is_ascii() {
            while has_phrase(&text, phrase) {
                text = text.replacen(&format!(" {phrase} "), " ; ", 1);
            }
        } else {
            text = text.replace(phrase, ";");
        }
    }
    text
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, found)| {
        text[..start].ends_with(' ') && text[start + found.len()..].starts_with(' ')
    })
}

/// Finds the Korean negation `안` before a verb. The word for "inside" is spelled alike.
fn korean_negation(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_negated = |(index, word): (usize, &&str)| {
        if JOINED_NEGATIONS.iter().any(|start| word.starts_with(start)) {
            return true;
        }
        let is_inside = index
            .checked_sub(1)
            .is_some_and(|before| INSIDE.iter().any(|place| words[before].ends_with(place)));
        *word == "안" && !is_inside && words.get(index + 1).is_some_and(|next| is_verb(next))
    };
    words.iter().enumerate().any(is_negated).then_some("안")
}

fn is_verb(word: &str) -> bool {
    ends_in_mieum(word) || VERB_ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests;
