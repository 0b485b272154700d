//! The pages of the repository are true where a program can tell: links, paths, arrows, and the lines that enforce the promise.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::layers::imports::source_files;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page of the repository, relative to its root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                pages.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// The targets of the links of a page, without addresses elsewhere.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchor that a heading has: its words in small letters, with hyphens in between.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

fn has_anchor(page: &str, wanted: &str) -> bool {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings.into_iter().any(|line| anchor(line.trim_start_matches('#')) == wanted)
}

#[test]
fn each_link_leads_to_a_file_or_a_heading() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let exists = root().join(&target).exists();
            if !exists || !(heading.is_empty() || has_anchor(&read(&target), heading)) {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The folders from which the full path of a file begins.
const ROOMS: [&str; 13] = [
    "actors/",
    "benches/",
    "docs/",
    "examples/",
    "fuzz/",
    "llama/",
    "models/",
    "program/",
    "proof/",
    "scripts/",
    "testing/",
    "tests/",
    "toolkits/",
];

#[test]
fn each_path_that_a_page_names_exists() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for path in read(&page).split('`').skip(1).step_by(2) {
            let is_path = ROOMS.iter().any(|room| path.starts_with(room))
                && path.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.{},".contains(c));
            if !is_path {
                continue;
            }
            let (before, inner, behind) = match (path.find('{'), path.find('}')) {
                (Some(open), Some(close)) => {
                    (&path[..open], &path[open + 1..close], &path[close + 1..])
                }
                _ => (path, "", ""),
            };
            for name in inner.split(',') {
                seen += 1;
                let path = format!("{before}{name}{behind}");
                if !root().join(&path).exists() && !root().join(page.with_file_name(&path)).exists()
                {
                    wrong.push(format!("{}: {path}", page.display()));
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The arrows that ARCHITECTURE draws: what stands left of the arrow imports each name right of it.
fn arrows(page: &str) -> Vec<(&str, &str)> {
    let lines = page.lines().filter_map(|line| line.split_once(" ─> "));
    lines.flat_map(|(from, to)| to.split(", ").map(move |to| (from.trim(), to.trim()))).collect()
}

/// Whether the code has an arrow: between members by Cargo.toml, between modules of `actors` by an import.
fn is_in_code(from: &str, to: &str) -> bool {
    let member = if from == "madang" { PathBuf::new() } else { PathBuf::from(from) };
    let manifest = root().join(&member).join("Cargo.toml");
    if manifest.exists() && from != "actors" {
        let text = fs::read_to_string(manifest).unwrap();
        let (_, dependencies) = text.split_once("\n[dependencies]\n").unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        let name = if to == "madang" { to.to_owned() } else { format!("madang-{to}") };
        return dependencies.lines().any(|line| line.split([' ', '.']).next() == Some(&name));
    }
    source_files(&root().join("actors/src"))
        .iter()
        .filter(|file| file.module().as_deref() == Some(from))
        .flat_map(|file| file.imports("madang_actors"))
        .any(|import| !import.is_test && import.module == to)
}

#[test]
fn each_arrow_that_the_architecture_draws_is_one_of_the_code() {
    let page = read("ARCHITECTURE.md");
    let drawn = arrows(&page);
    assert!(drawn.len() > 20, "{drawn:?}");
    let members: BTreeSet<_> = drawn.iter().map(|(from, _)| *from).collect();
    for module in ["program", "proof", "toolkits", "madang", "supervisor", "session", "ledger"] {
        assert!(members.contains(module), "no arrow begins at {module}");
    }
    let wrong: Vec<_> = drawn.iter().filter(|(from, to)| !is_in_code(from, to)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_arrow_that_the_code_lacks_is_found() {
    assert!(is_in_code("session", "dispatcher") && is_in_code("toolkits", "madang"));
    for (from, to) in
        [("llm", "dispatcher"), ("ledger", "port"), ("madang", "testing"), ("toolkits", "actors")]
    {
        assert!(!is_in_code(from, to), "{from} -> {to}");
    }
}

#[test]
fn each_line_that_enforces_a_promise_stands_where_the_page_says() {
    let page = read("docs/internals/where.md");
    let mut lines = 0;
    let mut wrong = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let quoted: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        let [path, code] = *quoted else { continue };
        lines += 1;
        if !read(path).lines().any(|line| line.contains(code)) {
            wrong.push(format!("{path}: {code}"));
        }
    }
    assert!(lines >= 10, "{lines}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_front_pages_are_short() {
    for (page, most) in [("README.md", 130), ("ARCHITECTURE.md", 150)] {
        let lines = read(page).lines().count();
        assert!(lines <= most, "{page} has {lines} lines");
    }
}
