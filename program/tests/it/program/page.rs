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

/// Lists the options of each command on the page.
fn of_the_page() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let page = fs::read_to_string(page).unwrap();
    let usage = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let mut commands: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for command in usage.replace("\n ", " ").lines() {
        let name = command.split_whitespace().nth(1).unwrap().to_owned();
        commands.entry(name).or_default().extend(options(command));
    }
    commands
}

#[test]
fn the_page_has_each_command_with_each_of_its_options() {
    let home = Home::new();
    let help = |arguments: &[&str]| {
        let ended = home.run(arguments, "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out
    };
    let page = of_the_page();
    let all = help(&["--help"]);
    let listed = all.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed: BTreeSet<_> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert_eq!(page.keys().cloned().collect::<BTreeSet<_>>(), listed);
    for (command, on_page) in page {
        let mut arguments = vec![&*command];
        // The innermost of nested commands has the options.
        arguments.extend((command == "notes").then_some("sync"));
        arguments.push("--help");
        let text = help(&arguments);
        // An option has a line of its own; sentences may name those of other commands.
        let own = text.lines().filter(|line| line.trim_start().starts_with('-'));
        let mut said: BTreeSet<_> =
            own.filter_map(|line| options(line).into_iter().next()).collect();
        said.retain(|option| !["--help", "--verbose", "--version"].contains(&&**option));
        assert_eq!(on_page, said, "{command}");
    }
}
