//! The plan for a page's file: a function of the file, of what was written and of what is wanted. Pure.
use super::{markdown::parse, marks::hash};

/// The SHA-256 of a file.
pub(super) type Hash = [u8; 32];

/// What stands at the place of a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Absent,
    /// A file.
    File {
        hash: Hash,
        /// What it says; `None` where that is no text, or too much.
        text: Option<String>,
    },
    /// Something that is no plain file, or lies behind such a thing: a link, a folder. It is never touched.
    Odd,
}

/// The marks of a page and its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkState {
    /// What was written last.
    pub(super) written: Option<Hash>,
    /// What was being written when the process ended.
    pub(super) coming: Option<Hash>,
    /// The page has changed since it was written.
    pub(super) is_changed: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: file, page and marks agree.
    Nothing,
    /// The file is as wanted: write that down.
    Note,
    /// Write the file in place of this one of ours, or where there is none.
    Write { over: Option<Hash> },
    /// Make the page what a person made of its file.
    Import { hash: Hash, text: String },
    /// A person made something of the file that the page cannot become: keep it beside, and write the page.
    KeepBeside { hash: Hash },
    /// Leave it: no plain file is there.
    Blocked,
}

/// Decides. A file that is neither what was written nor what was being written is a person's edit: it becomes the page
/// where the page has not changed, and is kept beside it where both have.
pub(super) fn step(found: Found, marked: MarkState, wanted: Hash) -> Step {
    match found {
        Found::Odd => Step::Blocked,
        Found::Absent => Step::Write { over: None },
        Found::File { hash, .. } if hash == wanted => {
            let is_known = !marked.is_changed && marked.written == Some(wanted);
            if is_known { Step::Nothing } else { Step::Note }
        }
        Found::File { hash, .. } if marked.written == Some(hash) || marked.coming == Some(hash) => {
            Step::Write { over: Some(hash) }
        }
        Found::File { hash, text: Some(text) }
            if !marked.is_changed && marked.written.is_some() && !is_emptied(&text, wanted) =>
        {
            Step::Import { hash, text }
        }
        Found::File { hash, .. } => Step::KeepBeside { hash },
    }
}

/// A page that has lines does not become none: an emptied file is as likely an accident, and would leave no trace of them.
fn is_emptied(text: &str, wanted: Hash) -> bool {
    parse(text).is_empty() && wanted != hash(b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Hash = [1; 32];
    const BEFORE: Hash = [2; 32];
    const EDITED: Hash = [3; 32];

    fn marked(written: Option<Hash>, coming: Option<Hash>, is_changed: bool) -> MarkState {
        MarkState { written, coming, is_changed }
    }

    fn file(hash: Hash) -> Found {
        Found::File { hash, text: Some("x".to_owned()) }
    }

    #[test]
    fn our_own_files_are_written_over_and_nobody_elses() {
        for (found, marked, expected) in [
            (Found::Absent, marked(None, None, true), Step::Write { over: None }),
            (Found::Absent, marked(Some(WANTED), None, false), Step::Write { over: None }),
            (file(WANTED), marked(Some(WANTED), None, false), Step::Nothing),
            (file(WANTED), marked(Some(BEFORE), Some(WANTED), true), Step::Note),
            (file(WANTED), marked(None, None, true), Step::Note),
            (file(BEFORE), marked(Some(BEFORE), None, true), Step::Write { over: Some(BEFORE) }),
            (file(BEFORE), marked(None, Some(BEFORE), true), Step::Write { over: Some(BEFORE) }),
            (
                file(EDITED),
                marked(Some(WANTED), None, false),
                Step::Import { hash: EDITED, text: "x".to_owned() },
            ),
            (file(EDITED), marked(Some(BEFORE), None, true), Step::KeepBeside { hash: EDITED }),
            (file(EDITED), marked(None, None, true), Step::KeepBeside { hash: EDITED }),
            (
                Found::File { hash: EDITED, text: None },
                marked(Some(WANTED), None, false),
                Step::KeepBeside { hash: EDITED },
            ),
            (Found::Odd, marked(Some(WANTED), None, true), Step::Blocked),
            (
                Found::File { hash: EDITED, text: Some("\n".to_owned()) },
                marked(Some(WANTED), None, false),
                Step::KeepBeside { hash: EDITED },
            ),
        ] {
            assert_eq!(step(found.clone(), marked, WANTED), expected, "{found:?} {marked:?}");
        }
    }
}
