//! Finds blocks by their words.
use serde::Serialize;

use super::{
    super::{
        block::BlockId,
        page::PageId,
        rules::judge_text,
        search::{Scope, expression, ranking},
    },
    MAX_HITS, NotesError, NotesRepository, Part,
    error::failed_to,
    row::{block_id, page_id},
};

/// A block that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockHit {
    /// The id of the block.
    pub id: BlockId,
    /// The page of the block.
    pub page_id: PageId,
    /// The title of that page.
    pub page_title: String,
    /// The text of the block.
    pub content: String,
}

impl NotesRepository<'_> {
    /// Finds blocks that have every word of the query, the best first, on one page or in the whole
    /// workspace. Returns at most `limit` after the first `offset`. If more than [`MAX_HITS`]
    /// match, only the newest are compared. A query without a letter, digit or emoji finds none.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownPage`](super::super::rules::NotesViolation::UnknownPage)
    /// for a page that the user does not have.
    pub async fn query_blocks(
        &mut self,
        query: &str,
        page: Option<&str>,
        offset: usize,
        limit: usize,
    ) -> Result<Part<BlockHit>, NotesError> {
        judge_text("query", query)?;
        let scope = match page {
            Some(id) => Scope::Page(self.page(id).await?.number),
            None => Scope::User(self.user.as_str()),
        };
        let Some(expression) = expression(query, scope) else {
            return Ok(Part { items: Vec::new(), total: 0 });
        };
        let mut rows: Vec<(String, String, String, String)> = sqlx::query_as(
            "SELECT block.id, page.id, page.title, block.content
             FROM notes_words JOIN notes_blocks block ON block.number = notes_words.rowid
                JOIN notes_pages page ON page.number = block.page
             WHERE notes_words MATCH $1 ORDER BY notes_words.rowid DESC LIMIT $2",
        )
        .bind(expression)
        .bind(MAX_HITS)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("search blocks"))?;
        let total = rows.len();
        let rank = ranking(query);
        rows.sort_by_cached_key(|(.., content)| rank(content));
        let items =
            rows.into_iter().skip(offset).take(limit).map(|(id, of, page_title, content)| {
                Ok(BlockHit { id: block_id(&id)?, page_id: page_id(&of)?, page_title, content })
            });
        Ok(Part { items: items.collect::<Result<_, NotesError>>()?, total })
    }
}
