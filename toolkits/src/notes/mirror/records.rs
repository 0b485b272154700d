//! Reads from the store which pages have changed, and records which files the mirror wrote.
//!
//! A file is recorded before it is written. If the process ends at any moment, the mirror can still
//! distinguish its own files from those of other programs.
use std::collections::HashSet;

use madang::{
    UserId,
    store::{SqliteStore, Store},
};
use sqlx::SqliteConnection;

use super::{
    super::{
        changes::lent,
        page::MAX_PAGE_BLOCKS,
        repository::{NotesError, NotesRepository},
    },
    hash::{Hash, hash},
    markdown::render,
    report::MirrorError,
    steps::Steps,
};

/// How many pages or files one step handles.
const AT_ONCE: u32 = 64;

/// The notes of one user in a store.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) store: SqliteStore,
    pub(super) user: UserId,
    pub(super) steps: Steps,
}

/// Selects pages after a number, changed or not.
const READ_ALL: &str = "SELECT file.page, file.changes, file.mirrored
    FROM notes_files file JOIN notes_pages page ON page.number = file.page
    WHERE page.user_id = $1 AND file.page > $2
    ORDER BY file.page LIMIT $3";
/// Selects changed pages after a number. It runs after each commit, and names the index so that it
/// does not go through all pages.
pub(super) const READ_CHANGED: &str = "SELECT file.page, file.changes, file.mirrored
    FROM notes_files file INDEXED BY notes_files_to_write CROSS JOIN notes_pages page ON page.number = file.page
    WHERE page.user_id = $1 AND file.page > $2 AND file.changes <> file.mirrored
    ORDER BY file.page LIMIT $3";
/// Selects, after a place, the places whose files must go because their pages are deleted or have
/// another place. A place that another page has is left out, because that page's file replaces the
/// old one.
const READ_GONE: &str = "SELECT DISTINCT place FROM notes_files_written gone
    WHERE user_id = $1 AND place > $2 AND page IS NULL AND NOT EXISTS (
        SELECT 1 FROM notes_files_written taken
        WHERE taken.user_id = gone.user_id AND taken.place = gone.place AND taken.page IS NOT NULL
    ) ORDER BY place LIMIT $3";
/// Selects the places of all files after a place.
const READ_PLACES: &str = "SELECT DISTINCT place FROM notes_files_written
    WHERE user_id = $1 AND place > $2 ORDER BY place LIMIT $3";

/// A selection of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Pages that changed since their files were written.
    Changed,
    /// All pages.
    All,
}

/// A selection of written files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Files of pages that are deleted or have another place.
    Gone,
    /// All files.
    All,
}

/// A page and the file that it is to have.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) page: i64,
    /// The names of its folders and its file.
    pub(super) path: Vec<String>,
    pub(super) text: String,
    /// The hash of `text`.
    pub(super) wanted: Hash,
    /// The hashes of the files that the mirror wrote at this place, or was about to write.
    pub(super) ours: Vec<Hash>,
    /// The count of changes at which `text` was read.
    changes: i64,
    /// Whether the page changed since its file was written.
    pub(super) is_changed: bool,
    /// Whether the file with the wanted text is recorded as this page's.
    pub(super) is_recorded: bool,
}

/// A file that the mirror wrote.
#[derive(Debug, Clone)]
pub(super) struct WrittenFile {
    pub(super) path: Vec<String>,
    pub(super) ours: Vec<Hash>,
}

impl Entry {
    pub(super) fn name(&self) -> String {
        self.path.join("/")
    }
}

impl Records {
    /// Reads the next pages after this number, with the texts of their files, and moves the number
    /// past them. Returns `None` after the last page.
    pub(super) async fn pages(
        &self,
        which: Which,
        after: &mut i64,
    ) -> Result<Option<Vec<Entry>>, MirrorError> {
        let mut reader = self.store.reader().await?;
        let db = lent(reader.connection())?;
        let query = match which {
            Which::All => READ_ALL,
            Which::Changed => READ_CHANGED,
        };
        let rows: Vec<(i64, i64, i64)> = sqlx::query_as(query)
            .bind(self.user.as_str())
            .bind(*after)
            .bind(AT_ONCE)
            .fetch_all(&mut *db)
            .await?;
        let Some(last) = rows.last() else { return Ok(None) };
        *after = last.0;
        let mut entries = Vec::with_capacity(rows.len());
        self.steps.before("pages").map_err(MirrorError::Step)?;
        for (number, changes, mirrored) in rows {
            let mut notes = NotesRepository::new(db, &self.user);
            // A page may be deleted at any moment. Its file is removed by the next pass.
            let Some(page) = notes.page_numbered(number).await? else { continue };
            let place = format!("{}.md", notes.path_of(&page).await?);
            let text = render(&notes.lines(&page, 0, MAX_PAGE_BLOCKS).await?.items);
            let wanted = hash(text.as_bytes());
            let written = self.written_at(db, &place).await?;
            entries.push(Entry {
                page: number,
                path: names(&place)?,
                text,
                wanted,
                changes,
                is_changed: changes != mirrored,
                is_recorded: written.contains(&(wanted, Some(number))),
                ours: written.into_iter().map(|(hash, _)| hash).collect(),
            });
        }
        Ok(Some(entries))
    }

    /// Reads the next written files after this place, and moves the place past them. Returns `None`
    /// after the last one.
    pub(super) async fn files(
        &self,
        whose: Whose,
        after: &mut String,
    ) -> Result<Option<Vec<WrittenFile>>, MirrorError> {
        let mut reader = self.store.reader().await?;
        let db = lent(reader.connection())?;
        let query = match whose {
            Whose::Gone => READ_GONE,
            Whose::All => READ_PLACES,
        };
        let places: Vec<String> = sqlx::query_scalar(query)
            .bind(self.user.as_str())
            .bind(&*after)
            .bind(AT_ONCE)
            .fetch_all(&mut *db)
            .await?;
        let Some(last) = places.last() else { return Ok(None) };
        last.clone_into(after);
        let mut files = Vec::with_capacity(places.len());
        for place in places {
            let written = self.written_at(db, &place).await?;
            let ours = written.into_iter().map(|(hash, _)| hash).collect();
            files.push(WrittenFile { path: names(&place)?, ours });
        }
        Ok(Some(files))
    }

    /// Records the files that are about to be written. Returns the pages that changed or were
    /// deleted since they were read, because a file written for one of those might never be
    /// removed.
    pub(super) async fn intend(&self, entries: &[&Entry]) -> Result<HashSet<i64>, MirrorError> {
        let mut outdated = HashSet::new();
        if entries.is_empty() {
            return Ok(outdated);
        }
        self.steps.before("intend").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        let db = lent(transaction.connection())?;
        for entry in entries {
            let recorded = sqlx::query(
                "INSERT INTO notes_files_written (user_id, place, hash, page)
                 SELECT $1, $2, $3, page FROM notes_files WHERE page = $4 AND changes = $5
                 ON CONFLICT DO UPDATE SET page = excluded.page",
            )
            .bind(self.user.as_str())
            .bind(entry.name())
            .bind(entry.wanted.to_vec())
            .bind(entry.page)
            .bind(entry.changes)
            .execute(&mut *db)
            .await?;
            if recorded.rows_affected() == 0 {
                outdated.insert(entry.page);
            }
        }
        transaction.commit().await?;
        self.steps.before("intended").map_err(MirrorError::Step)?;
        Ok(outdated)
    }

    /// Records that these files are in their places, so that what they replaced is forgotten.
    pub(super) async fn written(&self, entries: &[Entry]) -> Result<(), MirrorError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.steps.before("record").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        let db = lent(transaction.connection())?;
        for entry in entries {
            sqlx::query("UPDATE notes_files SET mirrored = $2 WHERE page = $1")
                .bind(entry.page)
                .bind(entry.changes)
                .execute(&mut *db)
                .await?;
            sqlx::query(
                "DELETE FROM notes_files_written WHERE user_id = $1 AND place = $2 AND hash <> $3",
            )
            .bind(self.user.as_str())
            .bind(entry.name())
            .bind(entry.wanted.to_vec())
            .execute(&mut *db)
            .await?;
        }
        transaction.commit().await?;
        self.steps.before("recorded").map_err(MirrorError::Step)
    }

    /// Forgets the files of deleted pages that are removed or left.
    pub(super) async fn forget(&self, places: &[String]) -> Result<(), MirrorError> {
        if places.is_empty() {
            return Ok(());
        }
        self.steps.before("forget").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        sqlx::query(
            "DELETE FROM notes_files_written WHERE user_id = $1 AND page IS NULL
                 AND place IN (SELECT value FROM json_each($2))",
        )
        .bind(self.user.as_str())
        .bind(serde_json::json!(places).to_string())
        .execute(lent(transaction.connection())?)
        .await?;
        transaction.commit().await?;
        self.steps.before("forgotten").map_err(MirrorError::Step)
    }

    /// Reads the hashes of the files that the mirror wrote or was about to write at a place, each
    /// with its page.
    async fn written_at(
        &self,
        db: &mut SqliteConnection,
        place: &str,
    ) -> Result<Vec<(Hash, Option<i64>)>, MirrorError> {
        let rows: Vec<(Vec<u8>, Option<i64>)> = sqlx::query_as(
            "SELECT hash, page FROM notes_files_written WHERE user_id = $1 AND place = $2",
        )
        .bind(self.user.as_str())
        .bind(place)
        .fetch_all(db)
        .await?;
        let hash = |bytes: Vec<u8>| {
            Hash::try_from(bytes).map_err(|_| NotesError::Corrupt { what: "the hash of a file" })
        };
        rows.into_iter().map(|(bytes, page)| Ok((hash(bytes)?, page))).collect()
    }
}

/// Splits a place into names. Returns an error for names that lead out of the workspace, even if
/// the tables have them.
fn names(place: &str) -> Result<Vec<String>, NotesError> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    if !place.split('/').all(is_name) {
        return Err(NotesError::Corrupt { what: "the place of a file" });
    }
    Ok(place.split('/').map(str::to_owned).collect())
}
