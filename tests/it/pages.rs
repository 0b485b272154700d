//! The pages of the repository are true where a program can tell: links, paths, arrows, and the
//! lines that enforce the promise.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use madang_test_support::sources::source_files;

use crate::layers::MEMBERS;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Folders of what is built or installed here, which git does not keep.
const OF_OTHERS: [&str; 3] = ["target", "node_modules", "venv"];

/// Every page of the repository, relative to its root.
pub(crate) fn pages() -> Vec<PathBuf> {
    files(".md")
}

/// Every file of the repository whose name ends so, relative to its root.
pub(crate) fn files(ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && !OF_OTHERS.contains(&name) {
                folders.push(path);
            } else if name.ends_with(ending) {
                files.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    assert!(files.len() > 20, "{files:?}");
    files
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
const ROOMS: [&str; 18] = [
    "actors/",
    "benches/",
    "docs/",
    "examples/",
    "fuzz/",
    "llama/",
    "mcp/",
    "models/",
    "parser/",
    "program/",
    "proof/",
    "scripts/",
    "server/",
    "src/",
    "test-support/",
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

/// Whether the code has an arrow: between members by Cargo.toml, between modules of `actors` by an
/// import.
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

/// The arrows between members that the layer test allows, by the names of the drawing.
fn allowed() -> BTreeSet<(&'static str, &'static str)> {
    let name = |member: &'static str| if member == "." { "madang" } else { member };
    let rows = MEMBERS.iter();
    rows.flat_map(|(from, to)| to.iter().map(move |to| (name(from), name(to)))).collect()
}

#[test]
fn each_arrow_between_members_that_is_allowed_is_drawn_and_no_other() {
    let page = read("ARCHITECTURE.md");
    let members: BTreeSet<_> = allowed().into_iter().map(|(from, _)| from).collect();
    let drawn: BTreeSet<_> =
        arrows(&page).into_iter().filter(|(from, _)| members.contains(from)).collect();
    assert_eq!(drawn, allowed());
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
fn the_application_that_a_page_shows_is_an_example() {
    let page = read("docs/embedding.md");
    let example = read("examples/application.rs");
    let (_head, code) = example.split_once("\n\n").unwrap();
    assert!(page.contains(&format!("```rust,no_run\n{code}```\n")), "{code}");
}

/// What takes the place of a line when `scripts/lines.sh` takes it out: a file and a line for each.
fn changes() -> Vec<(String, String)> {
    let text = read("tests/mutants/lines.txt");
    let blocks = text.split("\n\n").skip(1);
    let lines = blocks.map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.map(|lines| (lines[0].clone(), lines[1].strip_prefix('-').unwrap().to_owned())).collect()
}

#[test]
fn each_line_that_enforces_a_promise_stands_there_and_has_a_test_and_a_replacement() {
    let page = read("docs/internals/where.md");
    let sources: Vec<String> = files(".rs").into_iter().map(read).collect();
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let quoted: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        let [path, code, test] = *quoted else { continue };
        // A bar that is not escaped ends the cell of a table, also within code.
        let bare = code.replace("\\|", "");
        let code = code.replace("\\|", "|");
        if bare.contains('|') || !read(path).lines().any(|line| line.contains(&code)) {
            wrong.push(format!("{path}: {code}"));
        }
        let name = format!("fn {}(", test.rsplit("::").next().unwrap().rsplit(' ').next().unwrap());
        if !sources.iter().any(|source| source.contains(&name)) {
            wrong.push(format!("{path}: no {name})"));
        }
        rows.push((path.to_owned(), code));
    }
    assert!(rows.len() >= 10, "{rows:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut changes = changes();
    rows.sort();
    changes.sort();
    assert_eq!(rows, changes);
}

/// The crates of others in the tables of dependencies of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_table = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_table = line.ends_with("dependencies]") && !line.starts_with("[workspace");
        } else if let Some((name, _)) = line.split_once([' ', '.']).filter(|_| is_table) {
            names.insert(name.to_owned());
        }
    }
    names.retain(|name| {
        !name.starts_with("madang") && name.starts_with(|c: char| c.is_ascii_lowercase())
    });
    names
}

/// The crates that have a row in a table whose first column is `crate`. Its packages of other
/// registries say so.
fn crates_with_a_row(page: &str) -> BTreeSet<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows = rows.filter(|cell| !cell.ends_with(" (npm)") && !cell.ends_with(" (PyPI)"));
    let names = rows.flat_map(|cell| cell.split(" (").next().unwrap().split(", "));
    names.map(str::to_owned).collect()
}

#[test]
fn each_dependency_has_a_row_with_its_reason_and_each_row_is_one() {
    let rooms = MEMBERS.iter().map(|(name, _)| *name);
    let used: BTreeSet<_> = rooms
        .chain(["fuzz"])
        .flat_map(|room| dependencies(&read(Path::new(room).join("Cargo.toml"))))
        .collect();
    assert!(used.len() > 40, "{used:?}");
    assert_eq!(crates_with_a_row(&read("CONTRIBUTING.md")), used);
}
