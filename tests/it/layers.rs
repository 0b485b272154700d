//! The order of the members of the workspace, and of the modules in `src`: the runtime knows the
//! adapters, the adapters know ports (ARCHITECTURE.md, "Arrows").

use std::path::{Path, PathBuf};

use madang_test_support::sources::{Import, SourceFile, circle, source_files};

/// What each module may import. What tests alone compile is free.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("event", &[]),
    ("language", &[]),
    ("ledger", &[]),
    ("telemetry", &["error"]),
    ("tool", &["error"]),
    ("model", &["error"]),
    ("store", &["error"]),
    ("runtime", &["error", "telemetry", "tool", "model", "store"]),
    ("turn", &["error", "runtime"]),
    ("session", &["error", "runtime", "turn"]),
    ("approval", &["error", "runtime"]),
    ("call", &["error", "runtime", "approval"]),
    ("transaction", &["error", "runtime"]),
    ("user", &["error", "runtime", "session", "approval"]),
];

/// The modules at the outside of the ports. They must not know their callers.
const ADAPTERS: [&str; 3] = ["tool", "model", "store"];

/// The actors of `madang-actors`, which only the runtime's own files know.
const ACTORS: [&str; 7] =
    ["mailbox", "store", "approval", "llm", "dispatcher", "session", "supervisor"];

/// The crate of the actors, whose vocabulary and ports all members may use.
const ACTORS_CRATE: &str = "madang_actors";

/// What is wrong with an import from this crate; `None` if nothing is.
fn complaint(module: Option<&str>, imported: &str) -> Option<String> {
    let Some(module) = module else {
        // The root declares the modules and hands on what they contain.
        return None;
    };
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(row, _)| *row == module) else {
        return Some("this module has no row in MAY_IMPORT".to_owned());
    };
    let is_known = MAY_IMPORT.iter().any(|(row, _)| *row == imported);
    match (imported == module || imported == ACTORS_CRATE || allowed.contains(&imported), is_known)
    {
        (true, _) => None,
        (false, true) => Some(format!("`{module}` must not import `{imported}`")),
        (false, false) => Some(format!("where `crate::{imported}` comes from is not known")),
    }
}

/// All that is wrong with these files of the library, one line each. A name that the root hands on
/// counts as the module that it comes from.
fn complaints(files: &[SourceFile]) -> Vec<String> {
    let roots = files.iter().filter(|file| file.module().is_none());
    let exports: Vec<_> = roots.flat_map(SourceFile::exports).collect();
    let origin = |name: &str| {
        exports.iter().find(|(export, _)| export == name).map(|(_, module)| module.clone())
    };
    let mut complaints = Vec::new();
    for file in files {
        let module = file.module();
        let mut complain =
            |line, what| complaints.push(format!("src/{}:{line}: {what}", file.path.display()));
        for Import { module: name, line, .. } in
            file.imports("madang").into_iter().filter(|import| !import.is_test)
        {
            let imported = if module.is_some() { origin(&name).unwrap_or(name) } else { name };
            if let Some(what) = complaint(module.as_deref(), &imported) {
                complain(line, what);
            }
        }
        let Some(adapter) = module.filter(|module| ADAPTERS.contains(&module.as_str())) else {
            continue;
        };
        for Import { module: actor, line, is_test } in file.imports_from(ACTORS_CRATE) {
            if !is_test && ACTORS.contains(&actor.as_str()) {
                complain(line, format!("`{adapter}` must not know the actor `{actor}`"));
            }
        }
    }
    complaints
}

/// The sources of the library. Programs are crates of their own and may import everything.
fn sources() -> Vec<SourceFile> {
    let mut files = source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    files.retain(|file| !file.path.starts_with("bin") && file.path != Path::new("main.rs"));
    files
}

fn planted(path: &str, text: &str) -> [SourceFile; 1] {
    [SourceFile { path: PathBuf::from(path), text: text.to_owned() }]
}

#[test]
fn each_module_imports_only_what_its_row_allows() {
    let sources = sources();
    assert!(sources.iter().any(|file| file.module().is_none()), "no sources found");
    let wrong = complaints(&sources);
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_root_hands_on_at_most_25_names_each_by_its_name() {
    let root = sources().into_iter().find(|file| file.module().is_none()).unwrap();
    assert!(!root.text.contains("::*"), "each name stands there");
    let names: Vec<_> = root.exports().into_iter().map(|(name, _)| name).collect();
    assert!((10..=25).contains(&names.len()), "{} names: {names:?}", names.len());
}

/// What each member of the workspace may depend on, of the others; each row names only rows above
/// it. What only tests need is free.
pub(crate) const MEMBERS: &[(&str, &[&str])] = &[
    ("actors", &[]),
    ("test-support", &[]),
    ("parser", &["actors"]),
    ("llama", &["actors", "parser"]),
    ("testing", &["actors"]),
    (".", &["actors", "llama"]),
    ("examples/hello", &["."]),
    ("toolkits", &["."]),
    ("mcp", &["."]),
    ("server", &[".", "mcp"]),
    ("proof", &["actors", "parser", "testing", ".", "server", "mcp"]),
    ("program", &["testing", ".", "toolkits", "proof", "server", "mcp"]),
    ("models/eval", &["testing", ".", "toolkits"]),
];

/// The folders of the members that this manifest names under `[dependencies]`.
fn members_in(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]"
                || line.ends_with(".dependencies]") && !line.starts_with("[workspace");
        }
        let Some(name) = line.split([' ', '=']).next().filter(|_| is_inside) else { continue };
        match name.strip_prefix("madang") {
            Some("") => found.push(".".to_owned()),
            Some(member) => found.push(member.trim_start_matches('-').to_owned()),
            None => {}
        }
    }
    found
}

#[test]
fn each_member_depends_only_on_what_its_row_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read =
        |folder: &str| std::fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
    let manifest = read(".");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = ")).unwrap();
    let members: Vec<String> = serde_json::from_str(members).unwrap();
    for member in members.iter().map(String::as_str).chain(["."]) {
        let row = MEMBERS.iter().find(|(name, _)| *name == member);
        let (_, allowed) = row.unwrap_or_else(|| panic!("{member} has no row in MEMBERS"));
        for found in members_in(&read(member)) {
            assert!(allowed.contains(&&*found), "{member} must not depend on {found}");
        }
    }
    for (index, (member, allowed)) in MEMBERS.iter().enumerate() {
        let above = |name: &&str| MEMBERS[..index].iter().any(|(row, _)| row == name);
        assert!(allowed.iter().all(above), "{member} names a row that is not above it");
    }
}

#[test]
fn a_member_is_found_in_a_manifest_but_not_among_what_tests_need() {
    let manifest = "[dependencies]\nmadang-actors = { workspace = true }\nmadang = \"1\"\nserde = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\nmadang-llama = \"1\"\n\
                    [dev-dependencies]\nmadang-testing = \"1\"\n";
    assert_eq!(members_in(manifest), ["actors", ".", "llama"]);
}

/// The members in whose sources no files import one another in a circle.
/// `actors/tests/it/layers.rs` checks its own.
const WITHOUT_CIRCLES: &[&str] = &[
    ".",
    "testing",
    "parser",
    "llama",
    "toolkits",
    "server",
    "mcp",
    "program",
    "models/eval",
    "proof",
];

#[test]
fn no_files_of_a_member_import_one_another_in_a_circle() {
    for member in WITHOUT_CIRCLES {
        let files = source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(member).join("src"));
        assert!(files.len() > 10, "{member}: {} files", files.len());
        assert_eq!(circle(&files), [""; 0], "{member}");
    }
}

#[test]
fn an_adapter_knows_neither_the_runtime_nor_an_actor() {
    for text in
        ["use crate::runtime::Runtime;", "use madang_actors::{port::Tool, session::SessionMsg};"]
    {
        for path in ["tool/typed.rs", "model/child/mod.rs", "store/sqlite/mod.rs"] {
            assert_eq!(complaints(&planted(path, text)).len(), 1, "{path}: {text}");
        }
    }
    let fine = "use crate::store::Lease; use madang_actors::{port::Store, protocol::Limits};";
    assert_eq!(complaints(&planted("store/sqlite/mod.rs", fine)), [""; 0]);
    let runtime = "use madang_actors::{session, supervisor}; use crate::{error::BuildError, model, store, tool};";
    assert_eq!(complaints(&planted("runtime.rs", runtime)), [""; 0]);
}

#[test]
fn a_name_that_the_root_hands_on_counts_as_its_module() {
    let root = "pub use runtime::Runtime; pub use madang_actors::{port::Store, protocol::{LanguageTag, Limits}};";
    let both = |path, text| {
        let [root] = planted("lib.rs", root);
        let [file] = planted(path, text);
        complaints(&[root, file])
    };
    assert_eq!(
        both("tool/mod.rs", "use crate::Runtime;"),
        ["src/tool/mod.rs:1: `tool` must not import `runtime`"]
    );
    assert_eq!(both("tool/mod.rs", "use crate::{LanguageTag, Limits};"), [""; 0]);
    assert_eq!(both("runtime/builder.rs", "use crate::Runtime;"), [""; 0]);
}
