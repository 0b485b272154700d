//! Makes the name of a page's file and folder from its title. The name is safe on every system, and
//! unique among its siblings.
use unicode_normalization::UnicodeNormalization;

use super::fold::{fold, is_invisible};

/// The longest name in bytes, which leaves room for an ending, a number and a mark of conflict
/// in 255.
const MAX_BYTES: usize = 180;

/// Makes a name of a title. The name has no separator and is not that of a device. It does not
/// begin with a dot, or end in a dot or a space.
pub(super) fn file_name(title: &str) -> String {
    let composed: String = title.nfc().filter(|c| !is_invisible(*c) || *c == '\u{200d}').collect();
    let mut name: String = composed.chars().map(|c| if is_reserved(c) { '_' } else { c }).collect();
    name = name.trim_matches([' ', '\u{a0}', '\u{3000}']).to_owned();
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    name.truncate(name.floor_char_boundary(MAX_BYTES));
    name.truncate(name.trim_end_matches([' ', '.', '\u{200d}', '\u{a0}', '\u{3000}']).len());
    if name.is_empty() {
        return "_".to_owned();
    }
    // The folder of a page `a.md` would collide with the file of a page `a`.
    if let Some(stem) = name.len().checked_sub(3).filter(|end| is_ending(&name, *end)) {
        name.replace_range(stem..=stem, "_");
    }
    if is_device(&name) {
        // Only the part before the first dot counts, because `CON.txt` is a device too.
        let end = name.find('.').unwrap_or(name.len());
        name.insert(end, '_');
    }
    name
}

/// Returns the first free name of `name`, `name (2)`, `name (3)` and so on.
pub(super) fn unlike(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&fold(&name)) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name} ({number})"));
    numbered.find(|name| !is_taken(&fold(name))).expect("not every number is taken")
}

fn is_reserved(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '\u{2028}' | '\u{2029}'
        )
}

fn is_ending(name: &str, end: usize) -> bool {
    name.as_bytes()[end..].eq_ignore_ascii_case(b".md")
}

/// Returns whether Windows has a device of this name, with any ending.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let numbered = |device: &str| {
        let number = stem.strip_prefix(device).unwrap_or_default();
        matches!(number.chars().next(), Some('0'..='9' | '¹' | '²' | '³'))
            && number.chars().count() == 1
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered("COM")
        || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dangerous_titles_become_harmless_names() {
        for (title, name) in [
            ("2026-01-25 일일 노트", "2026-01-25 일일 노트"),
            ("..", "_"),
            (".", "_"),
            ("a/b", "a_b"),
            ("..\\..\\etc", "_._.._etc"),
            ("CON", "CON_"),
            ("con.txt", "con_.txt"),
            ("Com1", "Com1_"),
            ("LPT²", "LPT²_"),
            ("console", "console"),
            ("trailing... ", "trailing"),
            (".hidden", "_hidden"),
            ("a\u{0}b\u{7}", "a_b_"),
            ("x<>:\"|?*", "x_______"),
            ("read.me.MD", "read.me_MD"),
            ("🎭 family 👨‍👩‍👧", "🎭 family 👨‍👩‍👧"),
            ("\u{202e}gnp.exe", "gnp.exe"),
            ("\u{200b}", "_"),
            ("cafe\u{301}", "caf\u{e9}"),
        ] {
            assert_eq!(file_name(title), name, "{title:?}");
        }
    }

    #[test]
    fn a_long_korean_title_is_cut_between_characters() {
        let name = file_name(&"가".repeat(85));
        assert_eq!(name, "가".repeat(60));
    }

    #[test]
    fn a_taken_name_gets_a_number_whatever_its_case() {
        let taken = ["plan", "plan (2)"];
        assert_eq!(unlike("Plan".to_owned(), |key| taken.contains(&key)), "Plan (3)");
        assert_eq!(unlike("Other".to_owned(), |key| taken.contains(&key)), "Other");
    }

    proptest! {
        #[test]
        fn every_title_has_a_name_that_every_system_takes(title in any::<String>()) {
            let name = file_name(&title);
            prop_assert!((1..=MAX_BYTES + 1).contains(&name.len()));
            prop_assert!(!name.contains(['/', '\\', '\0', ':']) && !name.starts_with('.'));
            prop_assert!(!name.ends_with(['.', ' ']));
            prop_assert!(!is_device(&name));
            prop_assert!(!name.to_lowercase().ends_with(".md"));
            prop_assert_eq!(name.clone(), name.nfc().collect::<String>());
        }
    }
}
