//! Reads and writes the store's marks: which pages have changed, and which file was written last for each.
use std::collections::HashSet;

use madang::{
    UserId,
    store::{SqliteStore, Store},
};
use uuid::Uuid;

use super::{
    super::{
        changes::lent,
        page::{MAX_PAGE_BLOCKS, Page},
        repository::{ImportedLine, NotesError, NotesRepository},
    },
    hash::{Hash, as_hash, hash},
    markdown::render,
    plan::MarkState,
    report::MirrorError,
    steps::Steps,
};

/// The pages of one step.
pub(super) const AT_ONCE: u32 = 64;

/// The notes of one user in a store.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) store: SqliteStore,
    pub(super) user: UserId,
    pub(super) steps: Steps,
}

/// Number, changes, mirrored changes, last hash, hash of an unfinished write, place, moves.
type Row = (i64, i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>, i64);

/// Selects pages after a number whose files must move.
const READ_MOVED: &str =
    "SELECT file.page, file.changes, file.mirrored, file.written, file.coming, file.place, file.moves
    FROM notes_files file INDEXED BY notes_files_to_move CROSS JOIN notes_pages page ON page.number = file.page
    WHERE page.user_id = $1 AND file.page > $2 AND file.moves <> file.moved
    ORDER BY file.page LIMIT $3";
/// Selects pages after a number, changed or not.
const READ_ALL: &str = "SELECT file.page, file.changes, file.mirrored, file.written, file.coming, file.place, file.moves
    FROM notes_files file JOIN notes_pages page ON page.number = file.page
    WHERE page.user_id = $1 AND file.page > $2 AND file.moves = file.moved
    ORDER BY file.page LIMIT $3";
/// Selects changed pages after a number. It runs after each commit, so it names the index that spares it a walk over
/// all pages.
pub(super) const READ_CHANGED: &str =
    "SELECT file.page, file.changes, file.mirrored, file.written, file.coming, file.place, file.moves
    FROM notes_files file INDEXED BY notes_files_to_write CROSS JOIN notes_pages page ON page.number = file.page
    WHERE page.user_id = $1 AND file.page > $2 AND file.changes <> file.mirrored
        AND file.moves = file.moved
    ORDER BY file.page LIMIT $3";

/// A selection of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Pages that changed since their files were written.
    Changed,
    /// Pages whose path differs from their file's; the other selections leave these out.
    Moved,
    /// All pages.
    All,
}

/// A page and its file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) page: Page,
    /// The names of its folders and its file.
    pub(super) path: Vec<String>,
    /// The last or the intended place of its file.
    pub(super) place: Option<Vec<String>>,
    /// The count of renames, of the page and of those around it, at which `path` was read.
    pub(super) moves: i64,
    /// The count of changes at which `text` was read.
    pub(super) changes: i64,
    pub(super) kept: MarkState,
    pub(super) text: String,
    pub(super) wanted: Hash,
}

/// A fact about a page's file, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// The file is about to get this hash. `placed` records an earlier unfinished write that did reach its place.
    /// Without it, the next end of the process would make that file look like a person's edit.
    Coming { hash: Hash, placed: Option<Hash>, place: String },
    /// The file has this hash, at this count of changes.
    Written { hash: Hash, changes: i64, place: String },
    /// The file leaves its place and goes here next; a later file at the old place is another program's.
    Leaving { place: String },
    /// The file stands here, at this count of moves.
    Moved { place: Option<String>, moves: i64 },
}

/// The result of importing an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Imported {
    /// The page now equals the file.
    Applied,
    /// The page changed meanwhile and must be looked at again.
    Changed,
    /// The rules refuse the edit.
    Refused,
}

/// Splits a place into names. Refuses names that lead out of the workspace, whatever the tables say.
pub(super) fn names(place: &str) -> Result<Vec<String>, NotesError> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    if !place.split('/').all(is_name) {
        return Err(NotesError::Corrupt { what: "the place of a file" });
    }
    Ok(place.split('/').map(str::to_owned).collect())
}

impl Entry {
    pub(super) fn name(&self) -> String {
        self.path.join("/")
    }
}

impl Marks {
    /// Returns the word that identifies the owner of a workspace.
    pub(super) async fn claim(&self) -> Result<String, MirrorError> {
        let mut transaction = self.store.begin().await?;
        let db = lent(transaction.connection())?;
        sqlx::query(
            "INSERT INTO notes_workspaces (user_id, id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        )
        .bind(self.user.as_str())
        .bind(Uuid::now_v7().to_string())
        .execute(&mut *db)
        .await?;
        let id: String = sqlx::query_scalar("SELECT id FROM notes_workspaces WHERE user_id = $1")
            .bind(self.user.as_str())
            .fetch_one(db)
            .await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// Reads the next pages after this number, with the texts of their files, and moves the number behind them. `None`
    /// after the last page.
    pub(super) async fn read(
        &self,
        which: Which,
        after: &mut i64,
    ) -> Result<Option<Vec<Entry>>, MirrorError> {
        let mut reader = self.store.reader().await?;
        let db = lent(reader.connection())?;
        let query = match which {
            Which::All => READ_ALL,
            Which::Changed => READ_CHANGED,
            Which::Moved => READ_MOVED,
        };
        let rows: Vec<Row> = sqlx::query_as(query)
            .bind(self.user.as_str())
            .bind(*after)
            .bind(AT_ONCE)
            .fetch_all(&mut *db)
            .await?;
        let Some(last) = rows.last() else { return Ok(None) };
        *after = last.0;
        let mut notes = NotesRepository::new(db, &self.user);
        let mut entries = Vec::with_capacity(rows.len());
        for (number, changes, mirrored, written, coming, place, moves) in rows {
            let page = notes.page_numbered(number).await?;
            let mut path: Vec<_> =
                notes.path_of(&page).await?.split('/').map(str::to_owned).collect();
            if let Some(name) = path.last_mut() {
                name.push_str(".md");
            }
            // A move needs no text, so it is read only for the others.
            let text = match which {
                Which::Moved => String::new(),
                Which::All | Which::Changed => {
                    render(&notes.lines(&page, 0, MAX_PAGE_BLOCKS).await?.items)
                }
            };
            let kept = MarkState {
                written: as_hash(written),
                coming: as_hash(coming),
                is_changed: changes != mirrored,
            };
            let wanted = hash(text.as_bytes());
            let place = place.map(|place| names(&place)).transpose()?;
            entries.push(Entry { page, path, place, changes, moves, kept, text, wanted });
        }
        Ok(Some(entries))
    }

    /// Reads the hashes of all written and unfinished files of the user.
    pub(super) async fn hashes(&self) -> Result<HashSet<Hash>, MirrorError> {
        let mut reader = self.store.reader().await?;
        let rows: Vec<Vec<u8>> = sqlx::query_scalar(
            "WITH files AS (
                 SELECT written, coming FROM notes_pages JOIN notes_files ON page = number WHERE user_id = $1
                 UNION ALL SELECT written, coming FROM notes_files_left WHERE user_id = $1
             )
             SELECT written FROM files WHERE written IS NOT NULL
             UNION SELECT coming FROM files WHERE coming IS NOT NULL",
        )
        .bind(self.user.as_str())
        .fetch_all(lent(reader.connection())?)
        .await?;
        Ok(rows.into_iter().filter_map(|bytes| bytes.try_into().ok()).collect())
    }

    /// Records facts about files in one transaction, and returns the pages that are deleted: a file written for one of
    /// those would never be removed.
    pub(super) async fn mark(&self, marks: &[(i64, Mark)]) -> Result<HashSet<i64>, MirrorError> {
        let mut gone = HashSet::new();
        if marks.is_empty() {
            return Ok(gone);
        }
        self.steps.before("mark").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        let db = lent(transaction.connection())?;
        for (page, mark) in marks {
            let query = match mark {
                Mark::Coming { hash, placed, place } => sqlx::query(
                    "UPDATE notes_files SET written = coalesce($3, written), coming = $2, place = $4 WHERE page = $1",
                )
                .bind(page)
                .bind(hash.to_vec())
                .bind(placed.map(|hash| hash.to_vec()))
                .bind(place),
                Mark::Written { hash, changes, place } => sqlx::query(
                    "UPDATE notes_files SET written = $2, coming = NULL, mirrored = $3, place = $4 WHERE page = $1",
                )
                .bind(page)
                .bind(hash.to_vec())
                .bind(changes)
                .bind(place),
                Mark::Leaving { place } => {
                    sqlx::query("UPDATE notes_files SET place = $2 WHERE page = $1")
                        .bind(page)
                        .bind(place)
                }
                Mark::Moved { place, moves } => {
                    sqlx::query("UPDATE notes_files SET place = $2, moved = $3 WHERE page = $1")
                        .bind(page)
                        .bind(place)
                        .bind(moves)
                }
            };
            let done = query.execute(&mut *db).await?;
            if done.rows_affected() == 0 {
                gone.insert(*page);
            }
        }
        transaction.commit().await?;
        self.steps.before("marked").map_err(MirrorError::Step)?;
        Ok(gone)
    }

    /// Makes a page equal to the edited file, unless the page changed since it was read.
    pub(super) async fn import(
        &self,
        entry: &Entry,
        file: Hash,
        lines: &[ImportedLine],
    ) -> Result<Imported, MirrorError> {
        self.steps.before("import").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        let db = lent(transaction.connection())?;
        let number = entry.page.number;
        let changes: Option<i64> =
            sqlx::query_scalar("SELECT changes FROM notes_files WHERE page = $1")
                .bind(number)
                .fetch_optional(&mut *db)
                .await?;
        // A deleted page counts as changed.
        if changes != Some(entry.changes) {
            return Ok(Imported::Changed);
        }
        match NotesRepository::new(&mut *db, &self.user).replace_lines(&entry.page, lines).await {
            Ok(()) => {}
            // Without a commit, nothing of the import stays.
            Err(NotesError::Rule(_)) => return Ok(Imported::Refused),
            Err(error) => return Err(error.into()),
        }
        sqlx::query("UPDATE notes_files SET written = $2, coming = NULL WHERE page = $1")
            .bind(number)
            .bind(file.to_vec())
            .execute(db)
            .await?;
        transaction.commit().await?;
        self.steps.before("imported").map_err(MirrorError::Step)?;
        Ok(Imported::Applied)
    }
}
