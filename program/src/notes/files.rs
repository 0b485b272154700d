//! Mirrors notes to files and repairs them, on Unix.

use std::path::{Path, PathBuf};

use madang::{
    UserId,
    store::{SqliteStore, Store as _},
};
use madang_toolkits::notes::mirror::{self, MirrorEnd, MirrorReport, repair, workspace_beside};
use serde_json::json;

use crate::{
    args::{Notes, Toolkit, Toolkits},
    failure::Failure,
    language::UiLanguage,
    output, setup,
};

/// The most files that a sentence names.
const MAX_NAMED: usize = 5;

/// Repairs the files once, and prints the changes.
pub(crate) async fn run(Notes::Repair(wanted): Notes) -> Result<(), Failure> {
    let path = setup::database_path(&wanted.database)?;
    let user = wanted.person.user.clone();
    let store = setup::store(&wanted.database, &Toolkits { names: vec![Toolkit::Notes] }).await?;
    let folder = folder(wanted.workspace.folder.as_deref(), &path, &user);
    let done = repair(&store, user, &folder).await;
    store.close().await;
    let MirrorReport { written, removed, left, kept_beside, blocked, failed } =
        done.map_err(Failure::of)?;
    let is_complete = failed.is_empty();
    let report = json!({
        "workspace": folder, "written": written, "removed": removed, "left": left, "keptBeside": kept_beside,
        "blocked": blocked, "failed": failed,
    });
    output::foreign(&report.to_string())?;
    if is_complete {
        return Ok(());
    }
    Err(Failure::new(
        "some files could not be read, written or removed: look at their permissions and try again",
    ))
}

/// Removes the mirrored files of a folder, and returns those that stay because a person changed
/// them.
pub(crate) async fn clear(
    store: &SqliteStore,
    user: UserId,
    folder: &Path,
) -> Result<Vec<String>, Failure> {
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(Failure::new(format!(
            "nothing was erased: there is no folder {folder}, so give its path with --workspace or leave that out"
        )));
    }
    let MirrorReport { left, failed, .. } =
        mirror::clear(store, user, folder).await.map_err(Failure::of)?;
    if failed.is_empty() {
        return Ok(left);
    }
    let files = failed.join(", ");
    Err(Failure::new(format!(
        "some files of notes could not be removed, and nothing else was erased: look at the permissions of {files} and try again"
    )))
}

/// The files of a user's notes, which follow the store.
#[derive(Debug)]
pub(crate) struct Mirror {
    following: mirror::Mirror,
    folder: PathBuf,
    locale: UiLanguage,
}

impl Mirror {
    /// Writes what has changed, and names the files that differ from the notes.
    pub(crate) async fn stop(self) {
        let MirrorEnd { report, error } = self.following.stop().await;
        let folder = self.folder.display().to_string();
        for sentence in remaining(&report, error.is_some(), &folder, self.locale) {
            output::complain(&sentence);
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a system without a mirror refuses a folder")]
pub(super) fn start(
    store: &SqliteStore,
    workspace: Option<&Path>,
    database: &Path,
    user: UserId,
    locale: UiLanguage,
) -> Result<Option<Mirror>, Failure> {
    let folder = folder(workspace, database, &user);
    let following = mirror::Mirror::start(store, user, &folder);
    Ok(Some(Mirror { following, folder, locale }))
}

fn folder(workspace: Option<&Path>, database: &Path, user: &UserId) -> PathBuf {
    workspace.map_or_else(|| workspace_beside(database, user), Path::to_owned)
}

/// Says which files are not as the notes are; nothing if all are.
fn remaining(
    MirrorReport { left, kept_beside, blocked, failed, .. }: &MirrorReport,
    has_ended_early: bool,
    folder: &str,
    locale: UiLanguage,
) -> Vec<String> {
    let mut sentences = Vec::new();
    if !kept_beside.is_empty() {
        let files = named(kept_beside);
        sentences.push(locale.pick(
            format!("{folder}: 직접 고친 메모 파일은 다른 이름으로 남겨 두었습니다({files}). 파일을 고쳐도 메모는 바뀌지 않습니다."),
            format!("{folder}: files that were changed by hand are kept as {files}, because changes of files do not reach the notes"),
        ));
    }
    if !left.is_empty() {
        let files = named(left);
        sentences.push(locale.pick(
            format!("{folder}: 메모는 지워지거나 이름이 바뀌었지만, 직접 고친 파일은 남아 있습니다({files})."),
            format!("{folder}: files that were changed by hand stay, although their notes are deleted or renamed: {files}"),
        ));
    }
    let unwritten = [&blocked[..], failed].concat();
    if has_ended_early || !unwritten.is_empty() {
        let (ko, en) = match &unwritten[..] {
            [] => (String::new(), String::new()),
            files => (format!("({})", named(files)), format!(" ({})", named(files))),
        };
        sentences.push(locale.pick(
            format!("{folder}: 메모는 저장되었지만 파일로 쓰지 못했습니다{ko}. 폴더의 권한과 디스크를 확인하세요."),
            format!("{folder}: the notes are stored, but could not be written as files{en}: check the folder, its permissions and its disk"),
        ));
    }
    sentences
}

/// Lists some files, and counts the others.
fn named(files: &[String]) -> String {
    let listed = files[..files.len().min(MAX_NAMED)].join(", ");
    match files.len().checked_sub(MAX_NAMED) {
        None | Some(0) => listed,
        Some(more) => format!("{listed}, +{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_file_that_is_not_as_its_note_is_one_sentence() {
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let nothing = MirrorReport::default();
        let of = |report: &MirrorReport, has_ended_early| {
            remaining(report, has_ended_early, "work", UiLanguage::En)
        };
        assert_eq!(of(&nothing, false), [""; 0]);
        assert_eq!(
            of(&nothing, true),
            [
                "work: the notes are stored, but could not be written as files: check the folder, its permissions and its disk"
            ]
        );
        let report = MirrorReport {
            kept_beside: files(&["a (conflict).md"]),
            left: files(&["1", "2", "3", "4", "5", "6", "7"]),
            blocked: files(&["b.md"]),
            failed: files(&["c.md"]),
            ..nothing
        };
        let [kept, left, unwritten] = &of(&report, false)[..] else { panic!("three sentences") };
        assert!(kept.contains("a (conflict).md") && left.ends_with("1, 2, 3, 4, 5, +2"));
        assert!(unwritten.contains("(b.md, c.md)"), "{unwritten}");
    }
}
