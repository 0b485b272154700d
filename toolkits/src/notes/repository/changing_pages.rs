//! Renames and deletes pages.
use super::{
    super::{
        fold::fold,
        page::Page,
        rules::{NotesViolation, judge_title},
    },
    NotesError, NotesRepository,
    error::failed_to,
};

impl NotesRepository<'_> {
    /// Changes the title of a page. Its id, its blocks and the pages in it stay. Its file gets
    /// another name.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: title, a page of this user, a title that no
    /// other page has.
    pub async fn rename_page(&mut self, id: &str, title: &str) -> Result<Page, NotesError> {
        judge_title(title)?;
        let mut page = self.page(id).await?;
        if page.title == title {
            return Ok(page);
        }
        let is_taken: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM notes_pages
                WHERE user_id = $1 AND title_key = $2 AND number <> $3)",
        )
        .bind(self.user.as_str())
        .bind(fold(title))
        .bind(page.number)
        .fetch_one(&mut *self.db)
        .await
        .map_err(failed_to("look up a title"))?;
        if is_taken {
            return Err(NotesViolation::TitleTaken { title: title.to_owned() }.into());
        }
        let inside: Option<i64> =
            sqlx::query_scalar("SELECT parent FROM notes_pages WHERE number = $1")
                .bind(page.number)
                .fetch_one(&mut *self.db)
                .await
                .map_err(failed_to("look up the place of a page"))?;
        let name = self.free_file_name(title, inside, Some(page.number)).await?;
        sqlx::query(
            "UPDATE notes_pages SET title = $1, title_key = $2, file_name = $3, file_key = $4
             WHERE number = $5",
        )
        .bind(title)
        .bind(fold(title))
        .bind(&name)
        .bind(fold(&name))
        .bind(page.number)
        .execute(&mut *self.db)
        .await
        .map_err(failed_to("rename a page"))?;
        sqlx::query("DELETE FROM notes_title_words WHERE rowid = $1")
            .bind(page.number)
            .execute(&mut *self.db)
            .await
            .map_err(failed_to("take a title out of the index"))?;
        self.index_title(page.number, title).await?;
        self.page_changed(page.id).await?;
        title.clone_into(&mut page.title);
        Ok(page)
    }

    /// Deletes a page with its blocks, and returns the page. A page that contains pages is kept.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownPage`] or [`NotesViolation::HasPages`].
    pub async fn delete_page(&mut self, id: &str) -> Result<Page, NotesError> {
        let page = self.page(id).await?;
        let count = self.pages_in(&page).await?;
        if count > 0 {
            return Err(NotesViolation::HasPages { title: page.title, count }.into());
        }
        // This is one statement, because the check that each parent exists runs at its end.
        for (doing, statement) in [
            ("delete the blocks of a page", "DELETE FROM notes_blocks WHERE page = $1"),
            ("delete a page", "DELETE FROM notes_pages WHERE number = $1"),
        ] {
            sqlx::query(statement)
                .bind(page.number)
                .execute(&mut *self.db)
                .await
                .map_err(failed_to(doing))?;
        }
        self.page_deleted(page.id).await?;
        Ok(page)
    }

    /// Counts the pages directly inside a page.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`].
    pub async fn pages_in(&mut self, page: &Page) -> Result<u32, NotesError> {
        sqlx::query_scalar("SELECT count(*) FROM notes_pages WHERE parent = $1")
            .bind(page.number)
            .fetch_one(&mut *self.db)
            .await
            .map_err(failed_to("count the pages in a page"))
    }
}
