//! Reads cases from files: JSON lines, or sealed as hexadecimal digits against accidental reading.

use std::{collections::HashSet, path::Path};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{case::Case, failure::Failure, input, tables};

/// The cases that the makers of a model may read.
const OPEN: &str = include_str!("../cases/open.jsonl");

/// The sealed cases, and their hash, which was committed first.
const SEALED: &str = include_str!("../cases/sealed-3.hex");
const SEAL: &str = include_str!("../cases/sealed-3.hex.sha256");

/// Tells whether cases may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Open,
    Sealed,
}

/// A case and its source.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) case: Case,
    pub(crate) part: Part,
}

impl Part {
    /// Returns the name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
        }
    }
}

/// Reads the open cases of this program.
pub(crate) fn open() -> Result<Vec<Placed>, Failure> {
    read(OPEN, "the open cases of this program", Part::Open)
}

/// Reads the sealed cases of this program, if their seal is intact.
pub(crate) fn sealed() -> Result<Vec<Placed>, Failure> {
    let name = "the sealed cases of this program";
    check_seal(SEALED.as_bytes(), SEAL, name)?;
    read(&unsealed(SEALED, name)?, name, Part::Sealed)
}

/// Reads the cases of a file. A file `.hex` is sealed; a `.sha256` beside it must have its hash.
pub(crate) fn of_file(path: &Path) -> Result<Vec<Placed>, Failure> {
    let name = path.display().to_string();
    let content = content(path, &name)?;
    if path.extension().is_none_or(|extension| extension != "hex") {
        return read(&content, &name, Part::Open);
    }
    let seal = path.with_added_extension("sha256");
    check_seal(content.as_bytes(), &self::content(&seal, &seal.display().to_string())?, &name)?;
    read(&unsealed(&content, &name)?, &name, Part::Sealed)
}

/// Refuses two cases with one id.
pub(crate) fn check_ids(cases: &[Placed]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    match cases.iter().find(|placed| !seen.insert(&placed.case.id)) {
        Some(placed) => {
            let id = &placed.case.id;
            Err(Failure::new(format!("two cases are called {id}: give each an id of its own")))
        }
        None => Ok(()),
    }
}

fn content(path: &Path, name: &str) -> Result<String, Failure> {
    let missing = format!("there is no file {name}: give the path of a file of cases");
    input::file(path, name, &missing)
}

fn read(text: &str, name: &str, part: Part) -> Result<Vec<Placed>, Failure> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut cases = Vec::new();
    for (number, line) in lines {
        let refused = |problem: String| {
            Failure::new(format!("line {number} of {name} {problem}; mend it and try again"))
        };
        let case: Case = serde_json::from_str(line).map_err(|error| {
            // serde counts only the one line that it reads.
            let words = error.to_string();
            let words = words.rsplit_once(" at line ").map_or(&*words, |(words, _)| words);
            refused(format!("is not a case: {words}, at column {}", error.column()))
        })?;
        let problem = case.problem().or_else(|| case.rows.iter().find_map(tables::problem));
        if let Some(problem) = problem {
            return Err(refused(problem));
        }
        cases.push(Placed { case, part });
    }
    if cases.is_empty() {
        return Err(Failure::new(format!("{name} has no cases: a case is a line of JSON")));
    }
    Ok(cases)
}

fn check_seal(content: &[u8], seal: &str, name: &str) -> Result<(), Failure> {
    let hash = Sha256::digest(content);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    if seal.split_whitespace().next() == Some(&*hash) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the seal of {name} is broken: their hash differs from the recorded one, so they were changed"
    )))
}

/// Decodes the hexadecimal digits.
fn unsealed(digits: &str, name: &str) -> Result<String, Failure> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = digits.chunks(2).map(|pair| {
        let is_pair = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        let pair = std::str::from_utf8(pair).ok().filter(|_| is_pair)?;
        u8::from_str_radix(pair, 16).ok()
    });
    let text = bytes.collect::<Option<Vec<u8>>>().and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| Failure::new(format!("{name} is not sealed as hexadecimal digits of UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(result: Result<Vec<Placed>, Failure>) -> String {
        match result {
            Err(Failure::Explained { sentence, .. }) => sentence,
            Err(Failure::OutputClosed) | Ok(_) => "nothing".to_owned(),
        }
    }

    #[test]
    fn the_committed_cases_can_be_read_and_have_ids_of_their_own() {
        let mut cases = open().unwrap();
        let open = cases.len();
        cases.extend(sealed().unwrap());
        check_ids(&cases).unwrap();
        let sealed = cases.len() - open;
        assert!(open >= 100 && sealed >= 100, "{open} open, {sealed} sealed");
    }

    #[test]
    fn a_line_that_is_no_case_is_told_by_its_number() {
        let table = [
            (
                "{",
                "line 1 of f is not a case: EOF while parsing an object, at column 1; mend it and try again",
            ),
            (
                r#"{"id":"a"}"#,
                "line 1 of f is not a case: missing field `toolkit`, at column 10; mend it and try again",
            ),
            (
                r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x"}]}"#,
                "line 1 of f needs `calls` or `played` in turn 1, and not both; mend it and try again",
            ),
            (
                r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x","played":{"say":"y"}}]}"#,
                "line 1 of f has no turn in which the model answers; mend it and try again",
            ),
            (
                r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x","calls":[{"name":"t","arguments":{"a":{"$ref":"p.id"}}}]}]}"#,
                "line 1 of f refers to `p`, which no call before is known as; mend it and try again",
            ),
            (
                r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x","calls":[]}],"rows":[{"table":"habit"}]}"#,
                "line 1 of f expects rows of `habit`: there are habits, entries, pages, blocks; mend it and try again",
            ),
            (
                r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x","calls":[]}],"rows":[{"table":"habits","where":{"name":"y"}}]}"#,
                "line 1 of f expects a column `name` of `habits`: it has user, habit, item, type, frame_level, framed_text, anchor_when, anchor_after_what, dose_text, is_active; mend it and try again",
            ),
            ("\n \n", "f has no cases: a case is a line of JSON"),
        ];
        for (text, sentence) in table {
            assert_eq!(complaint(read(text, "f", Part::Open)), sentence);
        }
        let good = r#"{"id":"a","toolkit":"life","language":"ko","kind":"single","turns":[{"user":"x","calls":[]}]}"#;
        let second = complaint(read(&format!("{good}\n\n{{}}"), "f", Part::Open));
        assert!(second.starts_with("line 3 of f is not a case: missing field `id`"), "{second}");
    }

    #[test]
    fn a_seal_holds_for_the_very_bytes_only() {
        assert!(check_seal(SEALED.as_bytes(), SEAL, "f").is_ok());
        let changed = SEALED.replacen('7', "6", 1);
        assert!(check_seal(changed.as_bytes(), SEAL, "f").is_err());
        assert!(check_seal(SEALED.as_bytes(), "", "f").is_err());
    }

    #[test]
    fn what_is_sealed_is_found_again() {
        assert_eq!(unsealed("eab080\n 0a", "f").unwrap(), "가\n");
        for digits in ["eab0", "x0", "e"] {
            assert!(unsealed(digits, "f").is_err(), "{digits}");
        }
    }
}
