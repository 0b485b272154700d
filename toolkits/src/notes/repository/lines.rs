//! Reads all blocks of a page in reading order.
use sqlx::SqliteConnection;

use super::{
    super::{
        block::OutlineLine,
        page::Page,
        tree::{Node, reading_order},
    },
    NotesError, NotesRepository, Part,
    error::failed_to,
    row::block_id,
};

type Row = (i64, Option<i64>, String, String);

impl NotesRepository<'_> {
    /// Returns the blocks of a page in reading order: at most `limit`, from `offset` on.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`] or [`NotesError::Corrupt`].
    pub async fn lines(
        &mut self,
        page: &Page,
        offset: usize,
        limit: usize,
    ) -> Result<Part<OutlineLine>, NotesError> {
        let rows = rows(self.db, page).await?;
        let items = in_order(&rows)
            .into_iter()
            .skip(offset)
            .take(limit)
            .map(|(place, depth)| {
                let (_, _, id, content) = &rows[place];
                Ok(OutlineLine { id: block_id(id)?, depth, content: content.clone() })
            })
            .collect::<Result<Vec<_>, NotesError>>()?;
        Ok(Part { items, total: rows.len() })
    }
}

async fn rows(db: &mut SqliteConnection, page: &Page) -> Result<Vec<Row>, NotesError> {
    sqlx::query_as(
        "SELECT number, parent, id, content FROM notes_blocks WHERE page = $1
         ORDER BY parent, position, number",
    )
    .bind(page.number)
    .fetch_all(db)
    .await
    .map_err(failed_to("read the blocks of a page"))
}

fn in_order(rows: &[Row]) -> Vec<(usize, usize)> {
    let nodes: Vec<_> =
        rows.iter().map(|(number, parent, ..)| Node { number: *number, parent: *parent }).collect();
    reading_order(&nodes)
}
