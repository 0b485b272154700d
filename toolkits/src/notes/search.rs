//! Turns texts into words for SQLite's full-text index, turns queries into its expressions, and
//! ranks hits.
//!
//! Korean words run on into their endings, so a query matches any part of a word. Runs of syllables
//! are indexed twice, as single syllables and as overlapping pairs. A query of one syllable
//! searches single ones. A longer one searches a phrase of pairs. Words of other scripts are found
//! by their beginnings.
use super::fold::fold;

/// The columns of a text in the index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Words, and single syllables.
    pub(super) one: String,
    /// Overlapping pairs of syllables.
    pub(super) two: String,
}

/// Splits a text for the index.
pub(super) fn words(text: &str) -> Words {
    let mut words = Words::default();
    for run in segments(&fold(text)) {
        match run {
            Segment::Word(word) => push(&mut words.one, word),
            Segment::Syllables(syllables) => {
                for syllable in each(&syllables, 1) {
                    push(&mut words.one, &syllable);
                }
                for pair in each(&syllables, 2) {
                    push(&mut words.two, &pair);
                }
            }
        }
    }
    words
}

/// The texts that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope<'a> {
    User(&'a str),
    Page(i64),
}

impl Scope<'_> {
    /// Returns the word that represents it in the index.
    pub(super) fn word(self) -> String {
        match self {
            // A user's name may be any text, but an indexed word is letters and digits.
            Self::User(user) => {
                user.bytes().fold(String::from("u"), |word, byte| format!("{word}{byte:02x}"))
            }
            Self::Page(number) => format!("p{number}"),
        }
    }
}

/// Returns the expression that matches texts with every word of a query, or `None` for a query
/// without words.
pub(super) fn expression(query: &str, scope: Scope<'_>) -> Option<String> {
    let query = fold(query);
    let parts: Vec<_> = segments(&query)
        .into_iter()
        .map(|run| match run {
            Segment::Word(word) => format!("one : \"{word}\" *"),
            Segment::Syllables(syllables) if syllables.len() == 1 => {
                format!("one : \"{}\"", each(&syllables, 1).concat())
            }
            Segment::Syllables(syllables) => format!("two : \"{}\"", each(&syllables, 2).join(" ")),
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!("{} AND scope : \"{}\"", parts.join(" AND "), scope.word()))
}

/// Ranks the hits of a query. The smallest rank is the best. A text that is the query comes first,
/// then one that begins with it, then one with a word that does, and then others. Shorter texts
/// come first.
pub(super) fn ranking(query: &str) -> impl Fn(&str) -> (u8, usize) {
    let query = fold(query);
    move |text| {
        let text = fold(text);
        let kind = match text.find(&query) {
            Some(0) if text.len() == query.len() => 0,
            Some(0) => 1,
            Some(at) if !text[..at].ends_with(char::is_alphanumeric) => 2,
            Some(_) => 3,
            None => 4,
        };
        (kind, text.chars().count())
    }
}

enum Segment<'a> {
    Word(&'a str),
    Syllables(Vec<char>),
}

/// Splits a folded text into words and runs of syllables.
fn segments(text: &str) -> Vec<Segment<'_>> {
    let mut segments: Vec<Segment<'_>> = Vec::new();
    let mut word = None;
    let mut was_syllable = false;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_syllable = is_syllable(c);
        let is_word = c.is_alphanumeric() && !is_syllable;
        match (word, is_word) {
            (None, true) => word = Some(at),
            (Some(from), false) => {
                segments.push(Segment::Word(&text[from..at]));
                word = None;
            }
            (None, false) | (Some(_), true) => {}
        }
        match segments.last_mut() {
            Some(Segment::Syllables(run)) if is_syllable && was_syllable => run.push(c),
            Some(_) | None if is_syllable => segments.push(Segment::Syllables(vec![c])),
            Some(_) | None => {}
        }
        was_syllable = is_syllable;
    }
    segments
}

/// Lists each group of `count` neighbours in a run.
fn each(syllables: &[char], count: usize) -> Vec<String> {
    syllables.windows(count).map(String::from_iter).collect()
}

fn push(column: &mut String, word: &str) {
    if !column.is_empty() {
        column.push(' ');
    }
    column.push_str(word);
}

/// Returns whether a character carries meaning alone: Hangul, Han, kana, scripts of south-east Asia
/// without spaces, and emoji.
const fn is_syllable(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
        | '\u{0e01}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, one: &str, two: &str) {
        assert_eq!(words(text), Words { one: one.to_owned(), two: two.to_owned() }, "{text}");
    }

    #[test]
    fn words_stay_whole_and_runs_of_syllables_are_taken_apart() {
        check("Plan for 2026", "plan for 2026", "");
        check("마당극 a", "마 당 극 a", "마당 당극");
        check("ABC회사", "abc 회 사", "회사");
        check("- [x] **할** 일", "x 할 일", "");
        check("🎭🎉", "🎭 🎉", "🎭🎉");
        check("", "", "");
    }

    #[test]
    fn a_query_asks_for_every_word_within_its_scope() {
        let expression = |query| expression(query, Scope::Page(7));
        assert_eq!(expression("마").unwrap(), r#"one : "마" AND scope : "p7""#);
        assert_eq!(expression("마당").unwrap(), r#"two : "마당" AND scope : "p7""#);
        assert_eq!(
            expression("마당극 Plan").unwrap(),
            r#"two : "마당 당극" AND one : "plan" * AND scope : "p7""#
        );
        assert_eq!(expression(r#" "*" OR ( "#).unwrap(), r#"one : "or" * AND scope : "p7""#);
        assert_eq!(expression("?!"), None);
    }

    #[test]
    fn the_word_of_a_user_is_letters_and_digits_only() {
        assert_eq!(Scope::User("kim \"*").word(), "u6b696d20222a");
    }

    #[test]
    fn the_text_itself_is_best_then_its_beginning_then_a_word_in_it() {
        let texts = ["오늘 큰마당", "큰 마당", "마당극", "마당", "마 당"];
        let mut ranked = texts;
        ranked.sort_by_key(|text| ranking("마당")(text));
        assert_eq!(ranked, ["마당", "마당극", "큰 마당", "오늘 큰마당", "마 당"]);
    }
}
