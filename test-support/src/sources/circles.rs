//! Finds files that import one another in a circle, also through the names that a `mod.rs` hands
//! on.

use std::collections::{BTreeMap, BTreeSet};

use super::{SourceFile, Token, tokens};

/// The segments of a path below the root of the crate. A module's path also names its file.
type Path = Vec<String>;

/// Finds a circle of files, as the paths of their modules; empty where there is none. Code for
/// tests does not count.
pub fn circle(files: &[SourceFile]) -> Vec<String> {
    let is_code = |file: &&SourceFile| {
        let path = file.modules();
        !path.iter().any(|name| name == "tests") && path != ["test_runtime"]
    };
    let uses: Vec<_> = files.iter().filter(is_code).map(|f| (f.modules(), uses(f))).collect();
    let modules: BTreeSet<Path> = uses.iter().map(|(module, _)| module.clone()).collect();
    let mut exports = BTreeMap::new();
    for (module, uses) in &uses {
        for found in uses.iter().filter(|found| found.is_export) {
            if let Some(path) = absolute(module, &found.path, &modules) {
                exports.insert((module.clone(), found.name.clone()), path);
            }
        }
    }
    let mut arrows: BTreeMap<&Path, BTreeSet<Path>> = BTreeMap::new();
    for (module, uses) in &uses {
        let imported = uses.iter().filter(|found| !found.is_export).filter_map(|found| {
            let path = absolute(module, &found.path, &modules)?;
            Some(file_of(path, &modules, &exports)).filter(|to| to != module)
        });
        arrows.insert(module, imported.collect());
    }
    // What imports nothing that is left is in no circle.
    while let Some(free) =
        arrows.iter().find(|(_, to)| to.iter().all(|to| !arrows.contains_key(to)))
    {
        let free = *free.0;
        arrows.remove(free);
    }
    let mut way: Vec<&Path> = arrows.keys().next().copied().into_iter().collect();
    while let Some(last) = way.last() {
        let next = arrows[last].iter().find(|to| arrows.contains_key(to));
        let next = next.expect("each of those left imports another of them");
        if let Some(begin) = way.iter().position(|before| *before == next) {
            return way[begin..].iter().map(|path| path.join("/")).collect();
        }
        way.push(next);
    }
    Vec::new()
}

/// A name that a `use` takes, and whether it is handed on.
struct Use {
    path: Path,
    name: String,
    is_export: bool,
}

fn uses(file: &SourceFile) -> Vec<Use> {
    let tokens = tokens(&file.text);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut uses = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if (0..7).map(|next| text(at + next)).eq(["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = end_of_item(&tokens, at + 7);
        } else if text(at) == "use" {
            let is_export = at > 0 && ["pub", ")"].contains(&text(at - 1));
            let mut paths = Vec::new();
            at = tree(&tokens, at + 1, &[], &mut paths);
            uses.extend(paths.into_iter().map(|(path, name)| Use { path, name, is_export }));
        }
        at += 1;
    }
    uses
}

/// Gives the position of the `;` or `}` that ends the item.
fn end_of_item(tokens: &[Token<'_>], begin: usize) -> usize {
    let mut open = 0;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.text {
            "{" | "(" | "[" => open += 1,
            "}" | ")" | "]" => open -= 1,
            _ => {}
        }
        if open == 0 && [";", "}"].contains(&token.text) {
            return at;
        }
    }
    tokens.len()
}

/// Reads the paths of a `use`, with the names under which they are known, and gives the position
/// behind them.
fn tree(
    tokens: &[Token<'_>],
    mut at: usize,
    before: &[String],
    paths: &mut Vec<(Path, String)>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or(";", |token| token.text);
    let mut path = before.to_vec();
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while text(at) != "}" {
                    at = if text(at) == "," { at + 1 } else { tree(tokens, at, &path, paths) };
                }
                return at + 1;
            }
            "," | "}" | ";" | "as" => {
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let name = if text(at) == "as" { text(at + 1).to_owned() } else { String::new() };
                let name = if name.is_empty() { path.last().cloned() } else { Some(name) };
                paths.extend(name.map(|name| (path, name)));
                return if text(at) == "as" { at + 2 } else { at };
            }
            "::" => {}
            segment => path.push(segment.to_owned()),
        }
        at += 1;
    }
}

/// Gives the path from the root of the crate; `None` for a name of another crate or of the file
/// itself.
fn absolute(module: &Path, path: &[String], modules: &BTreeSet<Path>) -> Option<Path> {
    let climbs = path.iter().take_while(|segment| *segment == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            Some([module.get(..module.len().checked_sub(climbs)?)?, &path[climbs..]].concat())
        }
        first => {
            let child = [module, &[first.to_owned()][..]].concat();
            modules.contains(&child).then(|| [module, path].concat())
        }
    }
}

/// Gives the module whose file defines the name at the end of the path.
fn file_of(
    mut path: Path,
    modules: &BTreeSet<Path>,
    exports: &BTreeMap<(Path, String), Path>,
) -> Path {
    loop {
        let module = (0..=path.len()).rev().map(|len| &path[..len]);
        let module = module.filter(|path| modules.contains(*path)).max_by_key(|path| path.len());
        let module = module.unwrap_or_default().to_vec();
        let name = path.get(module.len()).cloned().unwrap_or_default();
        let Some(from) = exports.get(&(module.clone(), name)) else { return module };
        path = [&from[..], &path[module.len() + 1..]].concat();
    }
}
