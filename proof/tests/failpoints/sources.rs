//! Lists the failpoints in the sources.

use std::{fs, path::Path};

/// Lists their names, with repeats.
pub(crate) fn failpoints() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = Vec::new();
    for folder in ["src", "actors/src"] {
        read(&root.join(folder), &mut names);
    }
    names
}

fn read(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let calls = text.split("failpoint(\"").skip(1);
            names.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
}
