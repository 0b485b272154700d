//! The form in which texts are compared: lower case, composed Hangul, plain apostrophes, single spaces.

/// Folds a text for comparing. Shown and stored texts stay as written.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.trim().chars().flat_map(char::to_lowercase) {
        match c {
            '\u{2018}' | '\u{2019}' | '\u{02bc}' | '\u{ff07}' => folded.push('\''),
            // An invisible character would make equal words differ.
            c if is_invisible(c) => {}
            c if c.is_whitespace() => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            c => match folded.chars().next_back().and_then(|last| compose(last, c)) {
                Some(syllable) => {
                    folded.pop();
                    folded.push(syllable);
                }
                None => folded.push(c),
            },
        }
    }
    folded
}

/// Recognises invisible characters: controls, joiners, marks of direction, fillers, selectors and tags.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
        | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

const FIRST_SYLLABLE: u32 = 0xAC00;
const SYLLABLES: u32 = 11_172;
const VOWELS: u32 = 21;
const FINALS: u32 = 28;

/// Composes a leading consonant with a vowel, or an open syllable with a final consonant, as the
/// Unicode Standard defines it. Some systems hand over Hangul in its decomposed form.
fn compose(last: char, next: char) -> Option<char> {
    let (last, next) = (u32::from(last), u32::from(next));
    let open_syllable = || {
        let index = last.checked_sub(FIRST_SYLLABLE)?;
        (index < SYLLABLES && index % FINALS == 0).then_some(last)
    };
    let code = match (last, next) {
        (0x1100..=0x1112, 0x1161..=0x1175) => {
            FIRST_SYLLABLE + ((last - 0x1100) * VOWELS + (next - 0x1161)) * FINALS
        }
        (_, 0x11A8..=0x11C2) => open_syllable()? + (next - 0x11A7),
        _ => return None,
    };
    char::from_u32(code)
}

/// Tells whether a syllable ends in the consonant that makes a noun of a Korean verb.
pub(super) fn ends_in_mieum(word: &str) -> bool {
    const MIEUM: u32 = 16;
    word.chars().next_back().is_some_and(|c| {
        u32::from(c)
            .checked_sub(FIRST_SYLLABLE)
            .is_some_and(|index| index < SYLLABLES && index % FINALS == MIEUM)
    })
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
