//! Finds places among the blocks of one parent, and spreads the blocks if no place is left.
use super::{
    super::{block::Block, order::between},
    NotesError, NotesRepository,
    error::failed_to,
};

/// The blocks of one parent, or of the outermost level of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Siblings {
    pub(super) page: i64,
    pub(super) parent: Option<i64>,
}

/// The place of a block among its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    First,
    After(i64),
    Last,
}

impl Siblings {
    pub(super) const fn of(block: &Block) -> Self {
        Self { page: block.page, parent: block.parent }
    }
}

impl NotesRepository<'_> {
    /// Returns the position of a spot. If no number is left for it, spreads the siblings first.
    pub(super) async fn place(
        &mut self,
        siblings: Siblings,
        spot: Spot,
    ) -> Result<f64, NotesError> {
        let (before, after) = self.neighbours(siblings, spot).await?;
        if let Some(place) = between(before, after) {
            return Ok(place);
        }
        self.spread(siblings).await?;
        let (before, after) = self.neighbours(siblings, spot).await?;
        between(before, after).ok_or(NotesError::Corrupt { what: "the order of blocks" })
    }

    /// Returns the positions before and after a spot.
    pub(super) async fn neighbours(
        &mut self,
        Siblings { page, parent }: Siblings,
        spot: Spot,
    ) -> Result<(Option<f64>, Option<f64>), NotesError> {
        let query = match spot {
            Spot::First => sqlx::query_as(
                "SELECT NULL, min(position) FROM notes_blocks WHERE page = $1 AND parent IS $2",
            ),
            Spot::Last => sqlx::query_as(
                "SELECT max(position), NULL FROM notes_blocks WHERE page = $1 AND parent IS $2",
            ),
            Spot::After(_) => sqlx::query_as(
                "SELECT block.position, (
                    SELECT min(next.position) FROM notes_blocks next
                    WHERE next.page = $1 AND next.parent IS $2 AND next.position >= block.position
                        AND next.number <> block.number
                 ) FROM notes_blocks block WHERE block.number = $3",
            ),
        };
        let query = query.bind(page).bind(parent);
        let query = match spot {
            Spot::After(number) => query.bind(number),
            Spot::First | Spot::Last => query,
        };
        query.fetch_one(&mut *self.db).await.map_err(failed_to("look for a place among blocks"))
    }

    /// Renumbers the siblings in their order.
    pub(super) async fn spread(
        &mut self,
        Siblings { page, parent }: Siblings,
    ) -> Result<(), NotesError> {
        sqlx::query(
            "UPDATE notes_blocks SET position = ranked.place FROM (
                SELECT number, row_number() OVER (ORDER BY position, number) AS place
                FROM notes_blocks WHERE page = $1 AND parent IS $2
             ) ranked WHERE notes_blocks.number = ranked.number",
        )
        .bind(page)
        .bind(parent)
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("spread blocks out"))
    }
}
