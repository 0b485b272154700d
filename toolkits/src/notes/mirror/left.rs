//! Reads from the store which files deleted pages have left.
use madang::store::Store;

use super::{
    super::{changes::lent, page::PageId, repository::NotesError},
    hash::{Hash, as_hash},
    marks::{AT_ONCE, Marks, names},
    report::MirrorError,
};

/// A file of a deleted page.
#[derive(Debug, Clone)]
pub(super) struct LeftFile {
    pub(super) number: i64,
    pub(super) page: PageId,
    pub(super) place: Vec<String>,
    /// The hashes of the mirror's last write and of an unfinished one.
    pub(super) ours: Vec<Hash>,
    /// Another page has this place now.
    pub(super) is_taken: bool,
}

/// Number, page, place, last hash, hash of an unfinished write, and whether another page has the place.
type LeftRow = (i64, String, String, Option<Vec<u8>>, Option<Vec<u8>>, bool);

/// Selects the files of deleted pages.
const READ_LEFT: &str = "SELECT number, page_id, place, written, coming, EXISTS (
        SELECT 1 FROM notes_files file JOIN notes_pages page ON page.number = file.page
        WHERE page.user_id = $1 AND file.place = gone.place
    ) FROM notes_files_left gone WHERE user_id = $1 AND number > $2 ORDER BY number LIMIT $3";
/// Selects the files of existing pages in the same form.
const READ_PLACED: &str = "SELECT page.number, page.id, place, written, coming, FALSE
    FROM notes_files JOIN notes_pages page ON page.number = page
    WHERE page.user_id = $1 AND page.number > $2 AND place IS NOT NULL ORDER BY page.number LIMIT $3";

impl Marks {
    /// Reads the next files that deleted pages have left, and moves the number behind them. `None` after the last.
    pub(super) async fn left(&self, after: &mut i64) -> Result<Option<Vec<LeftFile>>, MirrorError> {
        self.files(READ_LEFT, after).await
    }

    /// Reads the files of the user's pages, to be removed too.
    pub(super) async fn placed(
        &self,
        after: &mut i64,
    ) -> Result<Option<Vec<LeftFile>>, MirrorError> {
        self.files(READ_PLACED, after).await
    }

    async fn files(
        &self,
        sql: &'static str,
        after: &mut i64,
    ) -> Result<Option<Vec<LeftFile>>, MirrorError> {
        let mut reader = self.store.reader().await?;
        let rows: Vec<LeftRow> = sqlx::query_as(sql)
            .bind(self.user.as_str())
            .bind(*after)
            .bind(AT_ONCE)
            .fetch_all(lent(reader.connection())?)
            .await?;
        let Some(last) = rows.last() else { return Ok(None) };
        *after = last.0;
        rows.into_iter().map(left_file).collect::<Result<_, _>>().map(Some)
    }

    /// Records that these files of deleted pages are finished.
    pub(super) async fn forget_left(&self, numbers: &[i64]) -> Result<(), MirrorError> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.steps.before("mark").map_err(MirrorError::Step)?;
        let mut transaction = self.store.begin().await?;
        sqlx::query(
            "DELETE FROM notes_files_left WHERE number IN (SELECT value FROM json_each($1))",
        )
        .bind(serde_json::json!(numbers).to_string())
        .execute(lent(transaction.connection())?)
        .await?;
        transaction.commit().await?;
        self.steps.before("marked").map_err(MirrorError::Step)
    }
}

fn left_file(row: LeftRow) -> Result<LeftFile, MirrorError> {
    let (number, page, place, written, coming, is_taken) = row;
    let page = PageId::parse(&page).ok_or(NotesError::Corrupt { what: "the place of a file" })?;
    let ours = as_hash(written).into_iter().chain(as_hash(coming)).collect();
    Ok(LeftFile { number, page, place: names(&place)?, ours, is_taken })
}
