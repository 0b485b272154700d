//! Lists all places where the program prints text as it is.

use std::path::Path;

/// The files that print lines as they are, with their number. Each line has the program's own
/// words, or texts that were made harmless before. `foreign`, `report`, `complain` and `notice`
/// make all other texts harmless.
const PRINTED_AS_IT_IS: &[(&str, usize)] = &[
    // Coloured rows that went through `plain`, `quoted` and `printable`.
    ("chat/lines.rs", 1),
    ("chat/terminal.rs", 12),
];

#[test]
fn what_the_program_prints_as_it_is_stands_in_a_list() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![program.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&program).unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let words = ["println!", "print!(", "io::stdout().lock", "io::stderr().lock"];
            let beside = words.iter().any(|word| text.contains(word));
            assert!(!beside || name == "output.rs", "{name} prints by itself");
            let count =
                text.matches("output::line(").count() + text.matches("output::piece(").count();
            if count > 0 {
                found.push((name, count));
            }
        }
    }
    found.sort();
    let mut expected: Vec<_> =
        PRINTED_AS_IT_IS.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    expected.sort();
    assert_eq!(found, expected);
}
