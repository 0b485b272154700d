//! The order of the modules in `src`: each imports only what lies below it (ARCHITECTURE.md,
//! "Arrows").

use std::path::{Path, PathBuf};

use madang_test_support::sources::{Import, SourceFile, circle, source_files};

/// What each module may import, from the bottom to the top; each row names only rows above it.
/// `approval` and `llm` never meet, and `dispatcher` does not know `llm`: a call knows no prompt, a
/// prompt knows no call.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("failpoint", &[]),
    ("protocol", &[]),
    ("ledger", &["protocol"]),
    ("port", &["failpoint", "protocol", "ledger"]),
    ("registry", &["failpoint", "protocol", "ledger", "port"]),
    ("mailbox", &["failpoint", "protocol", "ledger", "port", "registry"]),
    ("telemetry", &["protocol", "port"]),
    ("admission", &["protocol", "telemetry"]),
    ("store", &["failpoint", "protocol", "ledger", "port", "registry", "mailbox", "telemetry"]),
    ("approval", &["failpoint", "protocol", "ledger", "port", "registry", "mailbox", "store"]),
    ("llm", &["failpoint", "protocol", "ledger", "port", "registry", "mailbox", "telemetry"]),
    (
        "dispatcher",
        &[
            "failpoint",
            "protocol",
            "ledger",
            "port",
            "registry",
            "mailbox",
            "telemetry",
            "admission",
            "store",
            "approval",
        ],
    ),
    (
        "session",
        &[
            "failpoint",
            "protocol",
            "ledger",
            "port",
            "registry",
            "mailbox",
            "telemetry",
            "admission",
            "store",
            "approval",
            "llm",
            "dispatcher",
        ],
    ),
    ("call", &["protocol", "ledger", "port", "mailbox", "dispatcher", "session"]),
    (
        "supervisor",
        &[
            "failpoint",
            "protocol",
            "ledger",
            "port",
            "registry",
            "mailbox",
            "telemetry",
            "admission",
            "store",
            "approval",
            "llm",
            "dispatcher",
            "session",
        ],
    ),
];

/// Doubles for tests: they may import everything, and only tests import them.
const DOUBLES: [&str; 2] = ["testing", "test_runtime"];

/// What is wrong with an import of this module, in code for tests or not; `None` if nothing is.
fn complaint(module: &str, imported: &str, is_test: bool) -> Option<String> {
    let Some((_, below)) = MAY_IMPORT.iter().find(|(row, _)| *row == module) else {
        return (!DOUBLES.contains(&module))
            .then(|| "this module has no row in MAY_IMPORT".to_owned());
    };
    let is_known =
        DOUBLES.contains(&imported) || MAY_IMPORT.iter().any(|(row, _)| *row == imported);
    let is_allowed =
        imported == module || below.contains(&imported) || (DOUBLES.contains(&imported) && is_test);
    match (is_allowed, is_known) {
        (true, _) => None,
        (false, true) => Some(format!("`{module}` must not import `{imported}`")),
        (false, false) => Some(format!("where `crate::{imported}` comes from is not known")),
    }
}

/// All that is wrong with these files, one line each. The root declares the modules and is free to
/// name them; a name that it hands on counts as the module that it comes from.
fn complaints(files: &[SourceFile]) -> Vec<String> {
    let roots = files.iter().filter(|file| file.module().is_none());
    let exports: Vec<_> = roots.flat_map(SourceFile::exports).collect();
    let origin = |name: &str| {
        exports.iter().find(|(export, _)| export == name).map(|(_, module)| module.clone())
    };
    let mut complaints = Vec::new();
    for file in files {
        let Some(module) = file.module() else { continue };
        for Import { module: name, line, is_test } in file.imports("madang_actors") {
            let imported = origin(&name).unwrap_or(name);
            if let Some(what) = complaint(&module, &imported, is_test) {
                complaints.push(format!("src/{}:{line}: {what}", file.path.display()));
            }
        }
    }
    complaints
}

fn sources() -> Vec<SourceFile> {
    source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn planted(path: &str, text: &str) -> [SourceFile; 1] {
    [SourceFile { path: PathBuf::from(path), text: text.to_owned() }]
}

#[test]
fn each_module_imports_only_what_lies_below_it() {
    let sources = sources();
    for bottom in ["protocol", "ledger", "port"] {
        assert!(
            sources.iter().any(|file| file.module().as_deref() == Some(bottom)),
            "no sources of `{bottom}` found"
        );
    }
    let wrong = complaints(&sources);
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn nothing_names_the_crate_that_is_built_upon_this_one() {
    for file in sources() {
        assert!(file.imports_from("madang").is_empty(), "{} names `madang`", file.path.display());
    }
}

#[test]
fn the_table_names_only_rows_above_each_row() {
    for (index, (row, below)) in MAY_IMPORT.iter().enumerate() {
        for name in *below {
            assert!(
                MAY_IMPORT[..index].iter().any(|(above, _)| above == name),
                "`{row}` names `{name}`"
            );
        }
    }
}

#[test]
fn an_import_from_above_is_found_in_every_form() {
    let forms = [
        ("ledger/chain.rs", "use crate::session::Turn;"),
        ("ledger/chain.rs", "use crate::{protocol::{CallId, Limits}, session::{Turn}};"),
        ("ledger/chain.rs", "use madang_actors::session::Turn;"),
        ("ledger/chain.rs", "use super::super::session::Turn;"),
        ("ledger/mod.rs", "pub use super::session::Turn;"),
        ("ledger/mod.rs", "mod inner { use super::super::session::Turn; }"),
        ("ledger.rs", "fn f<'a>(turn: &'a crate::session::Turn) -> char { '\"' }"),
        (
            "ledger/chain.rs",
            "const QUOTE: char = '\\''; const R: &str = r#\"\"\"#; type T = crate::session::Turn;",
        ),
        ("ledger/chain.rs", "#[cfg(test)] mod tests; use crate::session::Turn;"),
        (
            "ledger/chain.rs",
            "#[cfg(test)] fn f(x: [u8; 2]) { g(); } fn h() { crate::session::begin() }",
        ),
    ];
    for (path, text) in forms {
        let found = complaints(&planted(path, text));
        assert_eq!(found, [format!("src/{path}:1: `ledger` must not import `session`")], "{text}");
    }
}

#[test]
fn what_hides_the_module_that_it_imports_is_refused() {
    for text in ["use crate::*;", "use crate as all;", "use super::super::*;", "use crate::Turn;"] {
        assert_eq!(complaints(&planted("ledger/chain.rs", text)).len(), 1, "{text}");
    }
    assert_eq!(complaints(&planted("novelty/mod.rs", "use crate::protocol::CallId;")).len(), 1);
}

#[test]
fn a_name_that_the_root_hands_on_counts_as_its_module() {
    let root = "pub mod session; pub use session::{Slot, turn::{Turn as Round}}; pub use self::port::Store;";
    let both = |text| {
        let [root] = planted("lib.rs", root);
        let [file] = planted("registry/mod.rs", text);
        complaints(&[root, file])
    };
    for text in
        ["use crate::Slot;", "use crate::{Round};", "use crate::Nothing;", "use crate::Turn;"]
    {
        assert_eq!(both(text).len(), 1, "{text}");
    }
    assert_eq!(both("use crate::Store;"), [""; 0]);
}

#[test]
fn what_is_no_import_is_left_alone() {
    let harmless = "
        // crate::session
        /* crate::session /* nested */ crate::session */
        //! See [`Session`](crate::session::Session).
        pub(crate) const TEXT: &str = \"crate::session \\\" crate::session\";
        const RAW: &str = r#\"crate::session \" crate::session\"#;
        pub(in crate::ledger) fn f() { super::chain::g(); self::h() }
        mod inner { use super::super::transition::Transition; }
        use crate::{ledger, protocol::{self, session::CallId}};
    ";
    assert_eq!(complaints(&planted("ledger/chain.rs", harmless)), [""; 0]);
}

#[test]
fn only_tests_import_the_doubles() {
    let allowed = [
        ("approval/tests.rs", "use crate::testing::MemoryStore;"),
        ("approval/tests/answers.rs", "use crate::testing::MemoryStore;"),
        (
            "approval/pending.rs",
            "#[cfg(test)] mod tests { mod inner { use crate::testing::MemoryStore; } }",
        ),
        ("approval/pending.rs", "#[cfg(all(test, unix))] use crate::{testing::MemoryStore};"),
        ("test_runtime.rs", "use crate::supervisor::Supervisor;"),
    ];
    for (path, text) in allowed {
        assert_eq!(complaints(&planted(path, text)), [""; 0], "{text}");
    }
    let refused = [
        "use crate::testing::MemoryStore;",
        "#[cfg(test)] mod tests {} use crate::testing::MemoryStore;",
        "#[cfg(test)] use std::fmt; use crate::testing::MemoryStore;",
        "#[cfg(not(test))] use crate::testing::MemoryStore;",
        "#[cfg(any(test, feature = \"testing\"))] use crate::testing::MemoryStore;",
    ];
    for text in refused {
        let found = complaints(&planted("approval/pending.rs", text));
        assert_eq!(
            found,
            ["src/approval/pending.rs:1: `approval` must not import `testing`"],
            "{text}"
        );
    }
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    assert_eq!(circle(&sources()), [""; 0]);
}

#[test]
fn a_circle_is_found_also_through_a_name_that_is_handed_on() {
    let file = |path: &str, text: &str| {
        let [file] = planted(path, text);
        file
    };
    let slot = file("chat/slot.rs", "use super::Feed; use crate::chat::{self, kit};");
    let facade = file("chat/mod.rs", "mod slot; mod feed; pub use feed::{Feed as Feed, Text};");
    let feed = |text| file("chat/feed.rs", text);
    let cases: [(_, &[&str]); 4] = [
        ("use crate::chat::slot::Slot;", &["chat/feed", "chat/slot"]),
        ("use super::{slot::{self, Slot as D}};", &["chat/feed", "chat/slot"]),
        ("use std::sync::Arc; use slot::Slot;", &[]),
        ("#[cfg(test)] mod tests { use super::super::slot::Slot; }", &[]),
    ];
    for (text, expected) in cases {
        let files = [
            file("chat/slot.rs", &slot.text),
            file("chat/mod.rs", &facade.text),
            feed(text),
            file("chat/tests/feed.rs", "use crate::chat::tests::slot::Slot;"),
        ];
        assert_eq!(circle(&files), expected, "{text}");
    }
}

#[test]
fn siblings_do_not_meet() {
    for (path, module) in
        [("approval/actor.rs", "llm"), ("llm/actor.rs", "approval"), ("dispatcher/run.rs", "llm")]
    {
        assert_eq!(
            complaints(&planted(path, &format!("use crate::{module}::X;"))).len(),
            1,
            "{path}"
        );
    }
}
