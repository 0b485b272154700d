//! Finds pages by their paths in the workspace, and lists the tree of all pages.
use serde::Serialize;

use super::{
    super::{
        fold::fold,
        page::{Page, PageId},
        rules::{NotesViolation, judge_text, parse_path},
        tree::{Node, reading_order},
    },
    NotesError, NotesRepository, Part,
    error::failed_to,
    row::{PageRow, page_id, pages},
};

/// A page in the tree of all pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeRow {
    /// The id of the page.
    pub id: PageId,
    /// The title of the page.
    pub title: String,
    /// The number of pages around it.
    pub depth: usize,
}

impl NotesRepository<'_> {
    /// Returns the page at a path of titles or file names, or `None` for the workspace itself. If
    /// no page has the last name, its ending `.md` is ignored.
    ///
    /// # Errors
    /// Returns [`NotesViolation::OutsideWorkspace`] or [`NotesViolation::UnknownPage`].
    pub async fn page_at(&mut self, path: &str) -> Result<Option<Page>, NotesError> {
        let mut found: Option<Page> = None;
        let names = parse_path(path)?;
        judge_text("path", path)?;
        for (place, name) in (1..).zip(&names) {
            let inside = found.as_ref().map(|page| page.number);
            let mut row = self.page_inside(inside, name).await?;
            let stem = name.strip_suffix(".md").filter(|stem| !stem.is_empty());
            if let (None, Some(stem), true) = (&row, stem, place == names.len()) {
                row = self.page_inside(inside, stem).await?;
            }
            let row = row.ok_or_else(|| NotesViolation::UnknownPage { name: path.to_owned() })?;
            found = Some(row.try_into()?);
        }
        Ok(found)
    }

    /// Returns the page with this title or file name inside a page, or on the outermost level.
    async fn page_inside(
        &mut self,
        inside: Option<i64>,
        name: &str,
    ) -> Result<Option<PageRow>, NotesError> {
        sqlx::query_as(pages!(
            "WHERE page.user_id = $1 AND coalesce(page.parent, 0) = coalesce($2, 0)
                AND (page.file_key = $3 OR page.title_key = $3)
             ORDER BY page.file_key = $3 DESC, page.number LIMIT 1"
        ))
        .bind(self.user.as_str())
        .bind(inside)
        .bind(fold(name))
        .fetch_optional(&mut *self.db)
        .await
        .map_err(failed_to("look up a path"))
    }

    /// Returns the path of a page: the names of the folders around it, and its own.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`].
    pub async fn path_of(&mut self, page: &Page) -> Result<String, NotesError> {
        let names: Vec<String> = sqlx::query_scalar(
            "WITH RECURSIVE above (number, parent, name, level) AS (
                SELECT number, parent, file_name, 0 FROM notes_pages WHERE number = $1
                UNION ALL
                SELECT page.number, page.parent, page.file_name, level + 1
                FROM above JOIN notes_pages page ON page.number = above.parent
             )
             SELECT name FROM above ORDER BY level DESC",
        )
        .bind(page.number)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("read the path of a page"))?;
        Ok(names.join("/"))
    }

    /// Lists the tree of all pages by title, each page before those in it: at most `limit`, after
    /// the first `offset`.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`] or [`NotesError::Corrupt`].
    pub async fn tree(&mut self, offset: usize, limit: usize) -> Result<Part<TreeRow>, NotesError> {
        let rows: Vec<(i64, Option<i64>, String, String)> = sqlx::query_as(
            "SELECT number, parent, id, title FROM notes_pages WHERE user_id = $1 ORDER BY title_key, number",
        )
        .bind(self.user.as_str())
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("read the tree of pages"))?;
        let nodes: Vec<_> = rows
            .iter()
            .map(|(number, parent, ..)| Node { number: *number, parent: *parent })
            .collect();
        let items = reading_order(&nodes)
            .into_iter()
            .skip(offset)
            .take(limit)
            .map(|(place, depth)| {
                let (_, _, id, title) = &rows[place];
                Ok(TreeRow { id: page_id(id)?, title: title.clone(), depth })
            })
            .collect::<Result<Vec<_>, NotesError>>()?;
        Ok(Part { items, total: rows.len() })
    }
}
