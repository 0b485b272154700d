//! The words of the code keep the rules of docs/glossary.md: one name for one type, no lost
//! document.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use madang_test_support::sources::{Token, source_files, tokens};

use crate::pages::{files, read};

/// The folders of the workspace that have Rust sources.
const FOLDERS: [&str; 25] = [
    "actors/src",
    "actors/tests",
    "benches",
    "examples",
    "fuzz/fuzz_targets",
    "llama/benches",
    "llama/src",
    "mcp/src",
    "mcp/tests",
    "parser/src",
    "program/src",
    "program/tests",
    "proof/src",
    "proof/tests",
    "server/benches",
    "server/examples",
    "server/src",
    "server/tests",
    "src",
    "test-support/src",
    "testing/src",
    "tests",
    "toolkits/benches",
    "toolkits/src",
    "toolkits/tests",
];

/// The public enums of the library that never grow: each case of theirs must be matched by all code
/// that meets it. A port's vocabulary is among them, because a store or a model that overlooks a
/// case breaks a promise in silence.
const CLOSED_ENUMS: [&str; 27] = [
    "Access",
    "Approval",
    "ApprovalEnd",
    "Asks",
    "CallResult",
    "CallState",
    "CancelledBy",
    "CompletionDelta",
    "Content",
    "ConversationMessage",
    "Decision",
    "Effect",
    "EffectPolicy",
    "EffectResolution",
    "Ending",
    "ImportedRole",
    "ListenAddress",
    "McpOffer",
    "Need",
    "PromptMessage",
    "SelectedCalls",
    "TokenHolder",
    "ToolOutcome",
    "TurnEnding",
    "TurnPhase",
    "UserHeader",
    "When",
];

/// The folders from which the path of a file begins in a comment.
const ROOMS: [&str; 14] = [
    "actors/",
    "docs/",
    "llama/",
    "mcp/",
    "models/",
    "parser/",
    "program/",
    "proof/",
    "scripts/",
    "server/",
    "test-support/",
    "testing/",
    "tests/",
    "toolkits/",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Each Rust source of the workspace, by its path from the root.
fn sources() -> Vec<(PathBuf, String)> {
    let files = FOLDERS.iter().flat_map(|folder| {
        let files = source_files(&root().join(folder)).into_iter();
        files.map(move |file| (Path::new(folder).join(file.path), file.text))
    });
    let files: Vec<_> = files.collect();
    assert!(files.len() > 600, "{}", files.len());
    files
}

/// Whether tests alone compile the file, or none of its types is of the library or the program.
fn is_test_file(path: &Path) -> bool {
    let names: Vec<_> = path.iter().filter_map(|name| name.to_str()).collect();
    let apart = ["tests", "tests.rs", "benches", "examples", "fuzz_targets", "test_runtime.rs"];
    names.iter().any(|name| apart.contains(name))
}

/// The plain `pub` types that a source declares outside of its test modules, with their lines.
fn declared_types(text: &str) -> Vec<(String, usize)> {
    let tokens = tokens(text);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut types = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if (0..6).map(|step| word(at + step)).eq(["#", "[", "cfg", "(", "test", ")"]) {
            at = behind_item(&tokens, at + 7);
            continue;
        }
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&word(at));
        let before = at.checked_sub(1).map_or("", &word);
        if is_type && before == "pub" {
            let name = word(at + 1);
            let line = tokens.get(at + 1).map_or(0, |token| token.line);
            if name != "$" {
                types.push((name.to_owned(), line));
            }
        }
        at += 1;
    }
    types
}

/// Where the item ends that begins here: behind its `;`, or behind the bracket that closes its
/// body.
fn behind_item(tokens: &[Token<'_>], begin: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.text {
            "{" => depth += 1,
            "}" if depth <= 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[test]
fn each_public_type_name_is_that_of_one_type() {
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources().iter().filter(|(path, _)| !is_test_file(path)) {
        for (name, line) in declared_types(text) {
            declared.entry(name).or_default().push(format!("{}:{line}", path.display()));
        }
    }
    assert!(declared.len() > 300, "{}", declared.len());
    declared.retain(|_, lines| lines.len() > 1);
    assert!(declared.is_empty(), "{declared:#?}");
}

#[test]
fn each_enum_of_the_library_may_grow_or_never_does() {
    let files = sources();
    let members = ["src", "server/src", "mcp/src"];
    let is_of_member = |path: &Path| members.iter().any(|member| path.starts_with(member));
    // What these members give on; `store::port` and the stores behind it left out.
    let given: BTreeSet<String> = files
        .iter()
        .filter(|(path, _)| is_of_member(path) && !path.starts_with("src/store"))
        .flat_map(|(_, text)| reexported(text))
        .collect();
    let mut open = 0;
    let mut closed = BTreeSet::new();
    for (path, text) in &files {
        if !(is_of_member(path) || path.starts_with("actors/src")) || is_test_file(path) {
            continue;
        }
        let lines: Vec<_> = text.lines().collect();
        for (name, line) in declared_types(text) {
            let declared = lines[line - 1];
            if !declared.starts_with("pub enum ") || !given.contains(&name) {
                continue;
            }
            let above = lines[..line - 1].iter().rev();
            let mut above =
                above.take_while(|line| line.starts_with("#[") || line.starts_with("///"));
            if above.any(|line| *line == "#[non_exhaustive]") {
                open += 1;
            } else {
                closed.insert(name);
            }
        }
    }
    assert!(open > 30, "{open}");
    assert_eq!(closed, CLOSED_ENUMS.map(str::to_owned).into());
}

/// The names in the `pub use` lines of a source.
fn reexported(text: &str) -> Vec<String> {
    let parts = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = parts.flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric()));
    names.filter(|name| name.starts_with(char::is_uppercase)).map(str::to_owned).collect()
}

#[test]
fn only_public_types_outside_of_tests_need_a_name_of_their_own() {
    let source = "pub struct One; pub(crate) enum Two {} struct Three; #[cfg(test)] mod tests { \
                  pub struct Four; } pub unsafe trait Five {} pub type Six = One;";
    let names: Vec<_> = declared_types(source).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["One", "Six"]);
}

#[test]
fn no_test_has_a_name_of_more_than_80_letters() {
    let mut long = Vec::new();
    for path in [".rs", ".py"].into_iter().flat_map(files) {
        let text = read(&path);
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        // Also where a macro takes the name. What has capitals or no `_` is a token or a digest.
        let is_name = |word: &str| word.contains('_') && !word.contains(char::is_uppercase);
        let names = words.filter(|word| word.len() > 80 && is_name(word));
        long.extend(names.map(|name| format!("{}: {name}", path.display())));
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// The comments of a source, each line with its number.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let begin = if line.trim_start().starts_with("//") { Some(0) } else { line.find(" // ") };
        Some((at + 1, &line[begin?..]))
    })
}

/// The documents and files that a comment cites and that the repository lacks.
fn lost(comment: &str) -> Vec<String> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "/_-.".contains(letter);
    let words = comment.split(|letter| !is_of_path(letter)).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(|word| word.trim_end_matches(['.', '/'])).collect();
    let is_lost = |word: &str| {
        let is_path = ROOMS.iter().any(|room| word.starts_with(room));
        (is_path || word.ends_with(".md")) && !root().join(word).exists()
    };
    let mut lost: Vec<_> =
        words.iter().filter(|word| is_lost(word)).map(|word| (*word).to_owned()).collect();
    let is_number = |word: &str| word.chars().all(|digit| digit.is_ascii_digit());
    for pair in words.windows(2) {
        let is_lost = match *pair {
            ["decision" | "Decision", number] if is_number(number) => !has_decision(number),
            ["seed", number] => is_number(number) && number.starts_with('0') && number.len() == 3,
            _ => false,
        };
        lost.extend(is_lost.then(|| pair.join(" ")));
    }
    let phrases = ["the seeds", "the spec ", "the spec.", "the spec:", "§"];
    lost.extend(phrases.iter().filter(|words| comment.contains(**words)).map(|w| (*w).to_owned()));
    lost
}

/// Whether the repository has the decision of this number.
fn has_decision(number: &str) -> bool {
    let names = fs::read_dir(root().join("docs/decisions")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.any(|name| name.starts_with(number))
}

#[test]
fn each_document_that_a_comment_cites_is_in_the_repository() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in sources() {
        // The pages that a person writes are files of a test's folder.
        let has_pages = path.starts_with("toolkits/src/notes") || path.ends_with("it/glossary.rs");
        for (line, comment) in comments(&text).filter(|_| !has_pages) {
            seen += 1;
            wrong.extend(
                lost(comment).into_iter().map(|what| format!("{}:{line}: {what}", path.display())),
            );
        }
    }
    assert!(seen > 5_000, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_document_that_the_repository_lacks_is_found() {
    for comment in [
        "// as spec.md says",
        "/// See docs/house.md.",
        "//! Decided in decision 0999.",
        "// seed 001 asks for it",
        "// as the spec says",
        "// program/eval/dinner.toml has them",
    ] {
        assert_eq!(lost(comment).len(), 1, "{comment}: {:?}", lost(comment));
    }
    for comment in ["// docs/proof.md, and decision 0004.", "// a seed of 0, and the spec's name"] {
        assert!(lost(comment).is_empty(), "{comment}: {:?}", lost(comment));
    }
}
