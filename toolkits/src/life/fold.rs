//! The form in which texts are compared: lower case, composed, plain apostrophes, single spaces.
use unicode_normalization::UnicodeNormalization;

/// Folds a text for comparing. Texts that are shown or stored stay as written.
pub(super) fn fold(text: &str) -> String {
    // An invisible character would make equal words differ. Some systems hand over Hangul in its
    // decomposed form.
    let visible = text.trim().chars().flat_map(char::to_lowercase).filter(|c| !is_invisible(*c));
    let mut folded = String::with_capacity(text.len());
    for c in visible.nfc() {
        match c {
            '\u{2018}' | '\u{2019}' | '\u{02bc}' | '\u{ff07}' => folded.push('\''),
            c if c.is_whitespace() && folded.ends_with(' ') => {}
            c if c.is_whitespace() => folded.push(' '),
            c => folded.push(c),
        }
    }
    folded
}

/// Returns whether a character is invisible: a control, a joiner, a mark of direction, a filler, a
/// selector or a tag.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
        | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a syllable ends in the consonant that makes a noun of a Korean verb.
pub(super) fn ends_in_mieum(word: &str) -> bool {
    const MIEUM: u32 = 16;
    const FINALS: u32 = 28;
    let last = word.chars().next_back().filter(|c| ('가'..='힣').contains(c));
    last.is_some_and(|c| (u32::from(c) - u32::from('가')) % FINALS == MIEUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_spaces_and_apostrophes_do_not_matter() {
        assert_eq!(fold("  Don\u{2019}t \t\n SNOOZE "), "don't snooze");
    }

    #[test]
    fn decomposed_hangul_equals_composed_hangul() {
        let decomposed = "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}";
        assert_eq!(fold(decomposed), "한글");
        assert_eq!(fold("한글"), "한글");
    }

    #[test]
    fn invisible_characters_do_not_split_a_word() {
        for between in [
            '\u{0}',
            '\u{7}',
            '\u{ad}',
            '\u{34f}',
            '\u{200b}',
            '\u{200f}',
            '\u{202e}',
            '\u{2066}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{e0020}',
        ] {
            assert_eq!(fold(&format!("금{between}지")), "금지", "{between:?}");
        }
    }

    #[test]
    fn a_noun_made_of_a_verb_is_known_by_its_final_consonant() {
        assert!(ends_in_mieum("마심"));
        assert!(!ends_in_mieum("마시"));
        assert!(!ends_in_mieum("m"));
        assert!(!ends_in_mieum(""));
    }
}
