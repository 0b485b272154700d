//! The smallest program is small, and needs no crate but this one. `scripts/run-examples.sh` runs it.
#![cfg(feature = "sqlite")]

use std::{fs, path::Path};

/// The most lines of code that the smallest program may have, without comments, attributes and blank lines.
const MAX_LINES: usize = 15;

fn code(source: &str) -> Vec<&str> {
    let lines = source.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#'))
        .collect()
}

/// The first segments of the paths in these lines: crates, and names that the program imports or binds itself.
fn crates<'s>(lines: &[&'s str]) -> Vec<&'s str> {
    let mut found = Vec::new();
    for line in lines {
        for (at, _) in line.match_indices("::") {
            let before = &line[..at];
            let begin =
                before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
            let is_first = !before[..begin].ends_with("::");
            if is_first && begin < at && before[begin..].starts_with(char::is_lowercase) {
                found.push(&before[begin..]);
            }
        }
    }
    found
}

#[test]
fn the_smallest_program_has_fifteen_lines_and_names_no_other_crate() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello.rs");
    let source = fs::read_to_string(path).unwrap();
    let lines = code(&source);
    assert!((5..=MAX_LINES).contains(&lines.len()), "{} lines: {lines:#?}", lines.len());
    let imported = lines[0];
    assert!(imported.starts_with("use madang::{"), "{imported}");
    for name in crates(&lines) {
        let is_known = ["madang", "std"].contains(&name) || imported.contains(name);
        assert!(is_known, "{name} is a crate of its own");
    }
}

#[test]
fn another_crate_is_found_wherever_it_is_named() {
    let found =
        crates(&["use tokio::main;", "let x = Box::new(serde_json::json!({}));", "a(model::b::c)"]);
    assert_eq!(found, ["tokio", "serde_json", "model"]);
}
