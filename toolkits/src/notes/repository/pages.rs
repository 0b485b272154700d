//! Finds, lists and creates pages.
use std::collections::HashSet;

use serde_json::json;
use uuid::Uuid;

use super::{
    super::{
        file_name::{file_name, unlike},
        fold::fold,
        page::{Page, PageId},
        rules::{NotesViolation, judge_text, judge_title},
        search::{Scope, expression, ranking, words},
    },
    MAX_HITS, NotesError, NotesRepository, Part,
    error::failed_to,
    row::{PageRow, pages},
};

impl NotesRepository<'_> {
    /// Returns the page with this id.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownPage`], for others' pages and invalid ids too.
    pub async fn page(&mut self, id: &str) -> Result<Page, NotesError> {
        let unknown = || NotesViolation::UnknownPage { name: id.to_owned() };
        let parsed = PageId::parse(id).ok_or_else(unknown)?;
        let row: Option<PageRow> =
            sqlx::query_as(pages!("WHERE page.id = $1 AND page.user_id = $2"))
                .bind(parsed.to_string())
                .bind(self.user.as_str())
                .fetch_optional(&mut *self.db)
                .await
                .map_err(failed_to("look up a page"))?;
        row.ok_or_else(unknown)?.try_into()
    }

    /// Returns the page with this title in any case. If there are several, returns the oldest.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownPage`].
    pub async fn page_titled(&mut self, title: &str) -> Result<Page, NotesError> {
        judge_title(title)?;
        let row: Option<PageRow> = sqlx::query_as(pages!(
            "WHERE page.user_id = $1 AND page.title_key = $2 ORDER BY page.number LIMIT 1"
        ))
        .bind(self.user.as_str())
        .bind(fold(title))
        .fetch_optional(&mut *self.db)
        .await
        .map_err(failed_to("look up a title"))?;
        row.ok_or_else(|| NotesViolation::UnknownPage { name: title.to_owned() })?.try_into()
    }

    /// Returns the page with this number in the tables, or `None` if there is none.
    #[cfg(unix)]
    pub(in super::super) async fn page_numbered(
        &mut self,
        number: i64,
    ) -> Result<Option<Page>, NotesError> {
        let row: Option<PageRow> =
            sqlx::query_as(pages!("WHERE page.number = $1 AND page.user_id = $2"))
                .bind(number)
                .bind(self.user.as_str())
                .fetch_optional(&mut *self.db)
                .await
                .map_err(failed_to("read a page"))?;
        row.map(Page::try_from).transpose()
    }

    /// Finds pages by words of their titles, the best first, and returns at most `limit` after the
    /// first `offset`. If more than [`MAX_HITS`] match, only equal titles and the newest pages are
    /// compared. The others follow, newest first. The total counts all of them.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`] or [`NotesError::Corrupt`].
    pub async fn query_pages(
        &mut self,
        query: &str,
        offset: usize,
        limit: usize,
    ) -> Result<Part<Page>, NotesError> {
        judge_text("query", query)?;
        let Some(expression) = expression(query, Scope::User(self.user.as_str())) else {
            return Ok(Part { items: Vec::new(), total: 0 });
        };
        let rows: Vec<PageRow> = sqlx::query_as(pages!(
            "JOIN notes_title_words ON notes_title_words.rowid = page.number
             WHERE notes_title_words MATCH $1 ORDER BY notes_title_words.rowid DESC LIMIT $2"
        ))
        .bind(&expression)
        .bind(MAX_HITS)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("search titles"))?;
        let total: u32 = sqlx::query_scalar(
            "SELECT count(*) FROM notes_title_words WHERE notes_title_words MATCH $1",
        )
        .bind(&expression)
        .fetch_one(&mut *self.db)
        .await
        .map_err(failed_to("count titles"))?;
        let total = total as usize;
        let mut items = rows.into_iter().map(Page::try_from).collect::<Result<Vec<_>, _>>()?;
        let oldest = items.last().map(|page| page.number);
        if total > items.len() {
            let found: HashSet<i64> = items.iter().map(|page| page.number).collect();
            let exact = self.pages_titled(query).await?.into_iter();
            items.extend(exact.filter(|page| !found.contains(&page.number)));
        }
        let rank = ranking(query);
        items.sort_by_cached_key(|page| rank(&page.title));
        let compared: Vec<i64> = items.iter().map(|page| page.number).collect();
        let mut items: Vec<_> = items.into_iter().skip(offset).take(limit).collect();
        if let Some(oldest) = oldest.filter(|_| items.len() < limit && total > compared.len()) {
            let skipped = offset.saturating_sub(compared.len());
            let wanted = limit - items.len();
            let older = self.older_titles(&expression, oldest, &compared, skipped, wanted).await?;
            items.extend(older);
        }
        Ok(Part { items, total })
    }

    /// Lists the matching pages that are older than the compared ones, newest first.
    async fn older_titles(
        &mut self,
        expression: &str,
        oldest: i64,
        compared: &[i64],
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Page>, NotesError> {
        let rows: Vec<PageRow> = sqlx::query_as(pages!(
            "JOIN notes_title_words ON notes_title_words.rowid = page.number
             WHERE notes_title_words MATCH $1 AND notes_title_words.rowid < $2
                AND page.number NOT IN (SELECT value FROM json_each($3))
             ORDER BY notes_title_words.rowid DESC LIMIT $4 OFFSET $5"
        ))
        .bind(expression)
        .bind(oldest)
        .bind(json!(compared).to_string())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(i64::try_from(offset).unwrap_or(i64::MAX))
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("search older titles"))?;
        rows.into_iter().map(Page::try_from).collect()
    }

    /// Lists the pages with this title in any case, newest first.
    async fn pages_titled(&mut self, title: &str) -> Result<Vec<Page>, NotesError> {
        let rows: Vec<PageRow> = sqlx::query_as(pages!(
            "WHERE page.user_id = $1 AND page.title_key = $2 ORDER BY page.number DESC LIMIT $3"
        ))
        .bind(self.user.as_str())
        .bind(fold(title))
        .bind(MAX_HITS)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("look up a title"))?;
        rows.into_iter().map(Page::try_from).collect()
    }

    /// Lists pages by title, with or without those that contain pages: at most `limit`, after the
    /// first `offset`.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`] or [`NotesError::Corrupt`].
    pub async fn list_pages(
        &mut self,
        directories: Directories,
        offset: u32,
        limit: u32,
    ) -> Result<Part<Page>, NotesError> {
        let includes = directories == Directories::Included;
        let rows: Vec<PageRow> = sqlx::query_as(pages!(
            "WHERE page.user_id = $1
                AND ($2 OR NOT EXISTS (SELECT 1 FROM notes_pages inside WHERE inside.parent = page.number))
             ORDER BY page.title_key, page.number LIMIT $3 OFFSET $4"
        ))
        .bind(self.user.as_str())
        .bind(includes)
        .bind(limit)
        .bind(offset)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("list pages"))?;
        let total: u32 = sqlx::query_scalar(
            "SELECT count(*) FROM notes_pages page WHERE user_id = $1
                AND ($2 OR NOT EXISTS (SELECT 1 FROM notes_pages inside WHERE inside.parent = page.number))",
        )
        .bind(self.user.as_str())
        .bind(includes)
        .fetch_one(&mut *self.db)
        .await
        .map_err(failed_to("count pages"))?;
        let items = rows.into_iter().map(Page::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(Part { items, total: total as usize })
    }

    /// Creates an empty page on the outermost level, or inside a page, which becomes a directory.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: title, a parent of this user, levels.
    pub async fn create_page(
        &mut self,
        title: &str,
        parent: Option<&str>,
    ) -> Result<Page, NotesError> {
        judge_title(title)?;
        let parent = match parent {
            Some(id) => Some(self.page(id).await?),
            None => None,
        };
        let inside = parent.as_ref().map(|parent| parent.number);
        let name = self.free_file_name(title, inside, None).await?;
        let id = PageId(Uuid::now_v7());
        let number: i64 = sqlx::query_scalar(
            "INSERT INTO notes_pages (id, user_id, parent, title, title_key, file_name, file_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number",
        )
        .bind(id.to_string())
        .bind(self.user.as_str())
        .bind(inside)
        .bind(title)
        .bind(fold(title))
        .bind(&name)
        .bind(fold(&name))
        .fetch_one(&mut *self.db)
        .await
        .map_err(failed_to("create a page"))?;
        self.index_title(number, title).await?;
        self.page_changed(id).await?;
        Ok(Page {
            id,
            title: title.to_owned(),
            parent_id: parent.map(|parent| parent.id),
            is_directory: false,
            block_count: 0,
            number,
        })
    }

    /// Adds the words of a title to the index.
    pub(super) async fn index_title(&mut self, number: i64, title: &str) -> Result<(), NotesError> {
        let searched = words(title);
        sqlx::query(
            "INSERT INTO notes_title_words (rowid, one, two, scope) VALUES ($1, $2, $3, $4)",
        )
        .bind(number)
        .bind(searched.one)
        .bind(searched.two)
        .bind(self.scope_of(number))
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("index a title"))
    }

    /// Returns a free file name for a title. The page's own name counts as free.
    pub(super) async fn free_file_name(
        &mut self,
        title: &str,
        inside: Option<i64>,
        of: Option<i64>,
    ) -> Result<String, NotesError> {
        let name = file_name(title);
        let key = fold(&name);
        // Only names with the same beginning can collide.
        let taken: Vec<String> = sqlx::query_scalar(
            "SELECT file_key FROM notes_pages
             WHERE user_id = $1 AND coalesce(parent, 0) = coalesce($2, 0) AND file_key >= $3 AND file_key < $4
                AND number IS NOT $5",
        )
        .bind(self.user.as_str())
        .bind(inside)
        .bind(&key)
        .bind(format!("{key}\u{10ffff}"))
        .bind(of)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("look for a free file name"))?;
        let taken: HashSet<String> = taken.into_iter().collect();
        Ok(unlike(name, |key| taken.contains(key)))
    }
}

/// Whether a list has the pages that contain pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directories {
    /// The list has them.
    Included,
    /// The list does not have them.
    LeftOut,
}
