//! The order of the modules in `src`: the runtime knows the adapters, the adapters know ports, and nobody but the
//! program, tests and examples knows a toolkit (ARCHITECTURE.md, "Arrows").

#[path = "../../actors/tests/imports/mod.rs"]
mod imports;

use std::path::{Path, PathBuf};

use imports::{Import, SourceFile, source_files};

/// What each module may import. What tests alone compile is free.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("error", &["time_zone"]),
    ("telemetry", &["error"]),
    ("tool", &["error"]),
    ("model", &["error"]),
    ("store", &["error"]),
    // Toolkits write the tables of the SQLite store, in parts that can be undone, and follow its commits.
    ("toolkit", &["error", "tool", "store"]),
    ("time_zone", &[]),
    // The runtime's own files know one another.
    (
        "runtime",
        &[
            "error",
            "telemetry",
            "tool",
            "model",
            "store",
            "builder",
            "session",
            "call",
            "resume",
            "time_zone",
        ],
    ),
    ("resume", &["error", "runtime"]),
    ("builder", &["error", "telemetry", "tool", "model", "store", "runtime", "time_zone"]),
    ("session", &["error", "telemetry", "runtime", "time_zone"]),
    ("call", &["error", "telemetry", "runtime", "session"]),
    ("call_place", &["error", "runtime"]),
    ("transaction", &["error", "runtime"]),
];

/// What stands at the outside of the ports. It must not know who calls it.
const ADAPTERS: [&str; 4] = ["tool", "model", "store", "toolkit"];

/// The actors of `madang-actors`, which only the runtime's own files know.
const ACTORS: [&str; 7] =
    ["mailbox", "store", "confirm", "llm", "dispatcher", "session", "supervisor"];

/// The crate of the actors, whose vocabulary and ports everybody may use.
const ACTORS_CRATE: &str = "madang_actors";

/// What is wrong with an import from this crate; `None` if nothing is.
fn complaint(module: Option<&str>, imported: &str) -> Option<String> {
    let Some(module) = module else {
        // The root declares the modules; of their contents it may hand on all but the toolkits'.
        return (imported == "toolkit").then(|| "the root must not import `toolkit`".to_owned());
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

/// All that is wrong with these files of the library, one line each. A name that the root hands on counts as the
/// module that it comes from.
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
fn nobody_but_programs_tests_and_examples_imports_a_toolkit() {
    for path in ["runtime.rs", "tool/mod.rs", "store/sql/writer.rs", "lib.rs"] {
        let found = complaints(&planted(path, "use crate::toolkit::life;"));
        assert_eq!(found.len(), 1, "{path}: {found:?}");
    }
    assert_eq!(complaints(&planted("lib.rs", "pub mod toolkit;\npub use toolkit::life;")).len(), 1);
    assert_eq!(
        complaints(&planted("lib.rs", "pub mod toolkit;\npub use runtime::Runtime;")),
        [""; 0]
    );
    assert_eq!(
        complaints(&planted("runtime.rs", "#[cfg(test)] mod tests { use crate::toolkit::life; }")),
        [""; 0]
    );
}

#[test]
fn an_adapter_knows_neither_the_runtime_nor_an_actor() {
    for text in
        ["use crate::runtime::Runtime;", "use madang_actors::{port::Tool, session::SessionMsg};"]
    {
        for path in
            ["tool/typed.rs", "model/llama/mod.rs", "store/sql/mod.rs", "toolkit/life/mod.rs"]
        {
            assert_eq!(complaints(&planted(path, text)).len(), 1, "{path}: {text}");
        }
    }
    let fine = "use crate::store::Lease; use madang_actors::{port::Store, protocol::Limits, testing::MemoryStore};";
    assert_eq!(complaints(&planted("store/sql/mod.rs", fine)), [""; 0]);
    let runtime = "use madang_actors::{session, supervisor}; use crate::{builder::Builder, model, store, tool};";
    assert_eq!(complaints(&planted("runtime.rs", runtime)), [""; 0]);
}

#[test]
fn a_name_that_the_root_hands_on_counts_as_its_module() {
    let root = "pub use runtime::Runtime; pub use madang_actors::{port::Store, protocol::{Limits, Locale}};";
    let both = |path, text| {
        let [root] = planted("lib.rs", root);
        let [file] = planted(path, text);
        complaints(&[root, file])
    };
    assert_eq!(
        both("tool/mod.rs", "use crate::Runtime;"),
        ["src/tool/mod.rs:1: `tool` must not import `runtime`"]
    );
    assert_eq!(both("tool/mod.rs", "use crate::{Limits, Locale};"), [""; 0]);
    assert_eq!(both("builder.rs", "use crate::Runtime;"), [""; 0]);
}

/// Which files of the program print lines as they are, and how often: each is made of the program's own words, or of texts
/// that were made harmless before. All else is printed by `foreign`, `report`, `complain` and `remark`, which do that.
const PRINTED_AS_IT_IS: &[(&str, usize)] = &[
    // Rows that `plain`, `quoted` and `printable` have been over, in colours.
    ("chat/lines.rs", 1),
    ("chat/terminal.rs", 12),
    // How many cases there are.
    ("eval/mod.rs", 1),
];

#[test]
fn what_the_program_prints_as_it_is_stands_in_a_list() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/madang");
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
