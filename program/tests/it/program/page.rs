//! Tests that the program's page names exactly its commands and options.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::Home;

/// Lists the options, `--name`, in a text.
fn options(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let words = text.split(|letter: char| !is_part(letter));
    words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned).collect()
}

/// Lists the options of each command on the page; the words of a nested command are its name.
fn of_the_page() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let page = fs::read_to_string(page).unwrap();
    let usage = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let is_name = |word: &&str| {
        !word.starts_with('-')
            && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
    };
    let mut commands: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for command in usage.replace("\n ", " ").lines() {
        let name: Vec<_> = command.split_whitespace().skip(1).take_while(is_name).collect();
        commands.entry(name.join(" ")).or_default().extend(options(command));
    }
    commands
}

/// Lists the options of each command that `--help` tells of, from this one on. Only the innermost
/// of nested commands are listed, because an outer one does nothing by itself.
fn of_the_help(home: &Home, command: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let ended = home.run(&[command, &["--help"]].concat(), "");
    assert_eq!(ended.code, Some(0), "{command:?}: {ended:?}");
    let text = ended.out;
    let Some((_, nested)) = text.split_once("Commands:\n") else {
        // An option has a line of its own; sentences may name those of other commands.
        let own = text.lines().filter(|line| line.trim_start().starts_with('-'));
        let mut said: BTreeSet<_> =
            own.filter_map(|line| options(line).into_iter().next()).collect();
        said.retain(|option| !["--help", "--verbose", "--version"].contains(&&**option));
        return BTreeMap::from([(command.join(" "), said)]);
    };
    nested
        .lines()
        .take_while(|line| !line.is_empty())
        // A description goes on in lines that begin further right.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .flat_map(|name| of_the_help(home, &[command, &[name]].concat()))
        .collect()
}

#[test]
fn the_page_has_each_command_with_each_of_its_options() {
    assert_eq!(of_the_page(), of_the_help(&Home::new(), &[]));
}
