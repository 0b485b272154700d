//! Finds which modules of its crate a source file imports. It reads tokens, not the whole language:
//! enough for paths.

mod circles;
mod tokens;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use circles::circle;
pub use tokens::{Token, tokens};

/// A source file and the top-level modules of its crate that it names.
#[derive(Debug)]
pub struct SourceFile {
    /// Its path below `src`.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// A path that leads to the root of the crate and from there into a module.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The segment after the root; `*` where everything is taken.
    pub module: String,
    /// The line, from 1.
    pub line: usize,
    /// It stands in code that is compiled for tests only.
    pub is_test: bool,
}

impl SourceFile {
    /// The module at the top of the crate that the file belongs to; `None` for the root.
    pub fn module(&self) -> Option<String> {
        self.modules().into_iter().next()
    }

    /// Reads what the file imports from its own crate: by `crate`, by the crate's name, or by
    /// `super` up to the root.
    pub fn imports(&self, own_name: &str) -> Vec<Import> {
        self.walk().run(&["crate", "super", "use", own_name])
    }

    /// Reads what the file imports from another crate.
    pub fn imports_from(&self, crate_name: &str) -> Vec<Import> {
        self.walk().run(&[crate_name])
    }

    /// Reads the names that the root hands on from its modules or from other crates:
    /// `pub use session::Turn` gives `Turn` and `session`.
    pub fn exports(&self) -> Vec<(String, String)> {
        let tokens = tokens(&self.text);
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let mut exports = Vec::new();
        for begin in (0..tokens.len()).filter(|&at| text(at) == "use") {
            let is_own = ["crate", "self"].contains(&text(begin + 1));
            let first = begin + if is_own { 3 } else { 1 };
            for at in (first..tokens.len()).take_while(|&at| text(at) != ";") {
                let is_name = text(at).starts_with(char::is_alphabetic) && text(at) != "as";
                if is_name && !["::", "as"].contains(&text(at + 1)) {
                    exports.push((text(at).to_owned(), text(first).to_owned()));
                }
            }
        }
        exports
    }

    fn walk(&self) -> Walk<'_> {
        let modules = self.modules();
        let is_test_file = modules.iter().any(|name| name == "tests");
        Walk::new(tokens(&self.text), modules.len(), is_test_file)
    }

    /// Names the module of the file: `store/actor.rs` is `store::actor`, `store/mod.rs` is `store`,
    /// `lib.rs` is the root.
    pub fn modules(&self) -> Vec<String> {
        let path = self.path.with_extension("");
        let names = path.iter().map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| !["lib", "main", "mod"].contains(&name.as_str())).collect()
    }
}

/// Reads all source files below a folder, in a fixed order.
pub fn source_files(root: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder of the sources can be read") {
            let path = entry.expect("its entries can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let path = path.strip_prefix(root).expect("it was found below the root").to_owned();
                files.push(SourceFile { path, text });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// A pass over the tokens of a file that knows in which inline modules and test items it stands.
struct Walk<'a> {
    tokens: Vec<Token<'a>>,
    /// How many modules the file lies below the root.
    depth: usize,
    is_test_file: bool,
    braces: Vec<Brace>,
    /// Open round and square brackets: a `;` between them ends no item.
    brackets: usize,
    /// The next item carries `#[cfg(test)]`; the value is the number of brackets around it.
    test_item: Option<usize>,
}

struct Brace {
    is_module: bool,
    is_test: bool,
}

impl<'a> Walk<'a> {
    fn new(tokens: Vec<Token<'a>>, depth: usize, is_test_file: bool) -> Self {
        Self { tokens, depth, is_test_file, braces: Vec::new(), brackets: 0, test_item: None }
    }

    /// Collects the paths that begin at one of these words: `super` counts where it leads to the
    /// root, `use` in the root.
    fn run(mut self, begins: &[&str]) -> Vec<Import> {
        let mut imports = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            match self.text(at) {
                "#" if self.text(at + 1) == "[" || self.text(at + 1) == "!" => {
                    at = self.attribute(at);
                    continue;
                }
                "{" => {
                    let is_module = at >= 2 && self.text(at - 2) == "mod";
                    let is_test = self.test_item.take().is_some();
                    self.braces.push(Brace { is_module, is_test });
                }
                "}" => {
                    self.braces.pop();
                }
                "(" | "[" => self.brackets += 1,
                ")" | "]" => self.brackets = self.brackets.saturating_sub(1),
                ";" => self.test_item = self.test_item.filter(|&around| around < self.brackets),
                word if begins.contains(&word) => match word {
                    "use" if self.level() == 0 => self.take_segments(at + 1, at, &mut imports),
                    "use" => {}
                    "super" => self.take_from_super(at, &mut imports),
                    _ => self.take_path(at, &mut imports),
                },
                _ => {}
            }
            at += 1;
        }
        imports
    }

    /// Takes a path that climbs from `super` to `super` up to the root.
    fn take_from_super(&self, first: usize, imports: &mut Vec<Import>) {
        let is_second =
            first >= 2 && self.text(first - 1) == "::" && self.text(first - 2) == "super";
        let mut last = first;
        while self.text(last + 1) == "::" && self.text(last + 2) == "super" {
            last += 2;
        }
        let climbed = (last - first) / 2 + 1;
        if !is_second && climbed >= self.level() {
            self.take_path(last, imports);
        }
    }

    /// Takes what follows the root of the crate, which is named by the token at `at`.
    fn take_path(&self, at: usize, imports: &mut Vec<Import>) {
        match self.text(at + 1) {
            "::" => self.take_segments(at + 2, at, imports),
            // `use crate as other` hides what is taken from it.
            "as" => imports.push(self.import("*", at)),
            _ => {}
        }
    }

    /// Takes one segment, or the first segment of each path in a group.
    fn take_segments(&self, first: usize, at: usize, imports: &mut Vec<Import>) {
        if self.text(first) != "{" {
            imports.push(self.import(self.text(first), at));
            return;
        }
        let mut open = 0;
        for index in first..self.tokens.len() {
            match self.text(index) {
                "{" => open += 1,
                "}" => open -= 1,
                segment if open == 1 && ["{", ","].contains(&self.text(index - 1)) => {
                    imports.push(self.import(segment, index));
                }
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Passes over an attribute, and remembers `#[cfg(test)]` and `#[cfg(all(test, ..))]`.
    fn attribute(&mut self, at: usize) -> usize {
        let is_inner = self.text(at + 1) == "!";
        let begin = at + 1 + usize::from(is_inner);
        let mut open = 0;
        let mut end = begin;
        while end < self.tokens.len() {
            match self.text(end) {
                "[" => open += 1,
                "]" => open -= 1,
                _ => {}
            }
            end += 1;
            if open == 0 {
                break;
            }
        }
        let has = |word: &str| (begin..end).any(|index| self.text(index) == word);
        // Under `any(test, ..)` or `not(test)` the code is compiled for others too.
        let is_test = self.text(begin + 1) == "cfg" && has("test") && !has("any") && !has("not");
        if is_test && is_inner {
            self.is_test_file = true;
        } else if is_test {
            self.test_item = Some(self.brackets);
        }
        end
    }

    fn import(&self, module: &str, at: usize) -> Import {
        let is_test = self.is_test_file
            || self.test_item.is_some()
            || self.braces.iter().any(|brace| brace.is_test);
        Import { module: module.to_owned(), line: self.tokens[at].line, is_test }
    }

    /// How many modules the current position lies below the root.
    fn level(&self) -> usize {
        self.depth + self.braces.iter().filter(|brace| brace.is_module).count()
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }
}
