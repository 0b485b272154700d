//! Decides about a page's file from the file, the marks and the wanted text. Pure.
use super::{
    hash::{Hash, hash},
    markdown::parse,
};

/// The finding at the place of a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// No file.
    Absent,
    /// A plain file.
    File {
        hash: Hash,
        /// Its text; `None` if it is not a text or too long.
        text: Option<String>,
    },
    /// Something other than a plain file, such as a link or a folder, or something behind one. It is never touched.
    Odd,
}

/// The marks of a page and its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkState {
    /// The hash of the last write.
    pub(super) written: Option<Hash>,
    /// The hash of a write that the end of the process interrupted.
    pub(super) coming: Option<Hash>,
    /// Whether the page changed since the last write.
    pub(super) is_changed: bool,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// File, page and marks agree.
    Nothing,
    /// The file is as wanted: record it.
    Note,
    /// Write the file over this one of the mirror's, or as a new file.
    Write { over: Option<Hash> },
    /// Make the page equal to the edited file.
    Import { hash: Hash, text: String },
    /// The page cannot become the edited file: keep the file beside it, and write the page.
    KeepBeside { hash: Hash },
    /// Leave it, because it is not a plain file.
    Blocked,
}

/// Decides about a file. One with neither the last nor the interrupted hash is a person's edit. It becomes the page if the page
/// has not changed, and is kept beside it otherwise.
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

/// Tells whether a page with lines would become empty: an emptied file may be an accident, and no copy would remain.
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
    fn only_the_mirrors_own_files_are_written_over() {
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
