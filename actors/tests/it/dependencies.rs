//! What is built in beside our own code keeps to `.deny.toml`: licences, banned crates, and where
//! they come from.
//!
//! `cargo deny` reads the same file and knows more (advisories, other platforms); this needs no
//! tool beside Cargo.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What `.deny.toml` says.
#[derive(Debug, PartialEq)]
struct Policy {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
    /// Whether crates come from crates.io alone.
    is_closed: bool,
}

impl Policy {
    /// Reads the few forms that the file has: one entry a line.
    fn read(text: &str) -> Self {
        let mut policy =
            Self { licences: BTreeSet::new(), banned: BTreeSet::new(), is_closed: false };
        let mut table = "";
        let mut list = "";
        let mut closed = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let quoted = line.split('"').nth(1).unwrap_or_default().to_owned();
            match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                _ if line.starts_with('[') => table = line,
                Some((key, "[")) => list = key,
                Some(("unknown-registry" | "unknown-git", "\"deny\"")) if table == "[sources]" => {
                    closed.insert(line);
                }
                _ if line == "]" => list = "",
                _ if (table, list) == ("[licenses]", "allow") => {
                    policy.licences.insert(quoted);
                }
                _ if (table, list) == ("[bans]", "deny") => {
                    policy.banned.insert(quoted);
                }
                _ => {}
            }
        }
        policy.is_closed = closed.len() == 2;
        policy
    }

    /// What is wrong with a package, as `cargo metadata` describes it.
    fn complaint(&self, package: &Value) -> Option<String> {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("nothing");
        let source = package["source"].as_str();
        if self.banned.contains(name) {
            return Some(format!("{name} is banned"));
        }
        if self.is_closed && source.is_some_and(|source| source != REGISTRY) {
            return Some(format!("{name} comes from {}", source.unwrap_or_default()));
        }
        let is_allowed = self.allows(licence);
        (!is_allowed).then(|| format!("{name} has the licence {licence}"))
    }

    /// Tells whether the allowed licences fulfil an expression of SPDX.
    fn allows(&self, expression: &str) -> bool {
        // Before it took such expressions, Cargo wrote a slash for "or".
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<_> = spaced.split_whitespace().collect();
        let mut words = &*words;
        self.either(&mut words) == Some(true) && words.is_empty()
    }

    /// `None` where this is no expression.
    fn either(&self, words: &mut &[&str]) -> Option<bool> {
        let mut is_allowed = self.both(words)?;
        while let ["OR", ref rest @ ..] = **words {
            *words = rest;
            is_allowed |= self.both(words)?;
        }
        Some(is_allowed)
    }

    fn both(&self, words: &mut &[&str]) -> Option<bool> {
        let mut is_allowed = self.one(words)?;
        while let ["AND", ref rest @ ..] = **words {
            *words = rest;
            is_allowed &= self.one(words)?;
        }
        Some(is_allowed)
    }

    fn one(&self, words: &mut &[&str]) -> Option<bool> {
        match **words {
            ["(", ref rest @ ..] => {
                *words = rest;
                let is_allowed = self.either(words)?;
                let [")", ref rest @ ..] = **words else { return None };
                *words = rest;
                Some(is_allowed)
            }
            [licence, "WITH", exception, ref rest @ ..] => {
                *words = rest;
                Some(self.licences.contains(&format!("{licence} WITH {exception}")))
            }
            [licence, ref rest @ ..] => {
                *words = rest;
                Some(self.licences.contains(licence))
            }
            [] => None,
        }
    }
}

fn policy() -> Policy {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.deny.toml");
    Policy::read(&fs::read_to_string(file).unwrap())
}

/// The packages of the whole workspace for this machine's platform, as `cargo metadata` describes
/// them.
fn packages() -> Vec<Value> {
    let Value::Array(packages) = metadata()["packages"].take() else { panic!("no packages") };
    assert!(packages.len() > 200, "the whole workspace: {}", packages.len());
    packages
}

fn metadata() -> Value {
    let host = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    // Those of other platforms are not on this machine.
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--all-features"])
        .args(["--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    serde_json::from_slice(&metadata.stdout).unwrap()
}

/// What is wrong with the Rust that a package asks for, where the workspace promises `oldest`.
fn too_new(package: &Value, oldest: &str) -> Option<String> {
    let parts = |version: &str| -> Vec<u32> {
        let numbers = version.split('.').map(|part| part.parse().unwrap());
        numbers.chain([0, 0]).take(3).collect()
    };
    let wanted = package["rust_version"].as_str()?;
    (parts(wanted) > parts(oldest)).then(|| format!("{} needs Rust {wanted}", package["name"]))
}

#[test]
fn each_licence_is_allowed_no_crate_is_banned_and_all_come_from_one_registry() {
    let policy = policy();
    let wrong: Vec<_> = packages().iter().filter_map(|it| policy.complaint(it)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_crate_needs_a_newer_rust_than_the_workspace_promises() {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    let wrong: Vec<_> = packages().iter().filter_map(|it| too_new(it, oldest)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let package = |version: &str| json!({ "name": "a", "rust_version": version });
    assert!(
        too_new(&package("1.99"), oldest).is_some() && too_new(&package("2"), oldest).is_some()
    );
    assert!(
        too_new(&package("1.9"), oldest).is_none() && too_new(&package(oldest), oldest).is_none()
    );
}

#[test]
fn what_is_locked_for_any_platform_comes_from_one_registry_and_is_not_banned() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap();
    let policy = policy();
    let mut packages = 0;
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name))?;
            line.split('"').nth(1)
        };
        let name = field("name = ").unwrap();
        let source = field("source = ");
        assert!(!policy.banned.contains(name), "{name} is banned");
        assert!(source.is_none_or(|source| source == REGISTRY), "{name} comes from {source:?}");
        packages += 1;
    }
    assert!(packages > 300, "{packages}");
}

#[test]
fn the_file_says_what_is_allowed_banned_and_closed() {
    let policy = policy();
    assert!(policy.is_closed);
    assert!(policy.licences.contains("Apache-2.0 WITH LLVM-exception"), "{policy:?}");
    assert!(policy.licences.len() > 5 && !policy.licences.contains(""), "{policy:?}");
    assert!(policy.banned.contains("openssl-sys"));
}

#[test]
fn no_feature_lets_a_schema_fetch_what_it_refers_to() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.deny.toml");
    let file = fs::read_to_string(file).unwrap();
    let metadata = metadata();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let of = |node: &&Value| node["id"].as_str().unwrap().contains("#jsonschema@");
    let features = nodes.iter().find(of).unwrap()["features"].to_string();
    for feature in ["resolve-http", "resolve-file", "resolve-async"] {
        assert!(file.contains(&format!("\"{feature}\"")), "cargo deny looks for {feature} too");
        assert!(!features.contains(feature), "{features}");
    }
}

#[test]
fn another_licence_a_banned_crate_and_another_source_are_found() {
    let policy = policy();
    let package = |name: &str, licence: Value, source: &str| {
        policy.complaint(&json!({ "name": name, "license": licence, "source": source }))
    };
    for licence in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        "MIT AND (BSD-3-Clause OR LGPL-2.1-only)",
    ] {
        assert_eq!(package("a", json!(licence), REGISTRY), None, "{licence}");
    }
    for licence in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR Apache-2.0) AND LGPL-2.1-only",
        "MIT WITH Classpath-exception-2.0",
        "MIT OR",
        "(MIT",
        "",
    ] {
        assert!(package("a", json!(licence), REGISTRY).is_some(), "{licence}");
    }
    assert!(package("a", Value::Null, REGISTRY).is_some(), "no licence at all");
    assert!(package("openssl-sys", json!("MIT"), REGISTRY).is_some());
    assert!(package("a", json!("MIT"), "git+https://example.org/a").is_some());
}
