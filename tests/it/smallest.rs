//! The smallest program is small, and its package depends on this library alone.
//! `scripts/run-examples.sh` runs it.

use std::{fs, path::Path};

/// The most lines of code that the smallest program may have, without comments, attributes and
/// blank lines.
const MAX_LINES: usize = 15;

fn read(path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello");
    fs::read_to_string(folder.join(path)).unwrap()
}

#[test]
fn the_smallest_program_has_fifteen_lines() {
    let source = read("src/main.rs");
    let is_code =
        |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#');
    let lines = source.lines().map(str::trim).filter(is_code).count();
    assert!((5..=MAX_LINES).contains(&lines), "{lines} lines");
}

#[test]
fn the_smallest_program_depends_on_the_library_alone() {
    let manifest = read("Cargo.toml");
    let named: Vec<_> = manifest
        .split("\n[")
        .filter(|table| table.split(']').next().is_some_and(|name| name.contains("dependencies")))
        .flat_map(|table| table.lines().skip(1))
        .filter_map(|line| line.split([' ', '.', '=']).next().filter(|name| !name.is_empty()))
        .collect();
    assert_eq!(named, ["madang"]);
}
