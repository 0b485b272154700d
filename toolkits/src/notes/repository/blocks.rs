//! Reads, creates, changes and deletes blocks.
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::{
    super::{
        block::{Block, BlockId},
        rules::{NotesViolation, judge_content},
        search::words,
    },
    NotesError, NotesRepository,
    error::failed_to,
    place::{Siblings, Spot},
    row::{BlockRow, block_id, blocks},
};

/// The parent of a new block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside<'a> {
    /// A page. The block is on its outermost level.
    Page(&'a str),
    /// Another block.
    Block(&'a str),
}

impl NotesRepository<'_> {
    /// Returns the block with this id.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownBlock`], for others' blocks and invalid ids too.
    pub async fn block(&mut self, id: &str) -> Result<Block, NotesError> {
        let unknown = || NotesViolation::UnknownBlock { id: id.to_owned() };
        let parsed = BlockId::parse(id).ok_or_else(unknown)?;
        let row: Option<BlockRow> =
            sqlx::query_as(blocks!("WHERE block.id = $1 AND page.user_id = $2"))
                .bind(parsed.to_string())
                .bind(self.user.as_str())
                .fetch_optional(&mut *self.db)
                .await
                .map_err(failed_to("look up a block"))?;
        row.ok_or_else(unknown)?.try_into()
    }

    /// Counts the siblings before a block.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`].
    pub async fn order_of(&mut self, block: &Block) -> Result<usize, NotesError> {
        let before: u32 = sqlx::query_scalar(
            "SELECT count(*) FROM notes_blocks WHERE page = $1 AND parent IS $2
                AND (position, number) < ($3, $4)",
        )
        .bind(block.page)
        .bind(block.parent)
        .bind(block.position)
        .bind(block.number)
        .fetch_one(&mut *self.db)
        .await
        .map_err(failed_to("count the blocks before one"))?;
        Ok(before as usize)
    }

    /// Counts the blocks directly inside a block.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`].
    pub async fn children_of(&mut self, block: &Block) -> Result<usize, NotesError> {
        let count: u32 = sqlx::query_scalar("SELECT count(*) FROM notes_blocks WHERE parent = $1")
            .bind(block.number)
            .fetch_one(&mut *self.db)
            .await
            .map_err(failed_to("count the blocks in a block"))?;
        Ok(count as usize)
    }

    /// Creates a block, after the sibling `after` or at the end.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: content, parent, a sibling in that parent,
    /// levels, a full page.
    pub async fn create_block(
        &mut self,
        inside: Inside<'_>,
        after: Option<&str>,
        content: &str,
    ) -> Result<Block, NotesError> {
        judge_content(content)?;
        let siblings = match inside {
            Inside::Page(id) => Siblings { page: self.page(id).await?.number, parent: None },
            Inside::Block(id) => {
                let parent = self.block(id).await?;
                Siblings { page: parent.page, parent: Some(parent.number) }
            }
        };
        let spot = match after {
            None => Spot::Last,
            Some(id) => {
                let sibling = self.block(id).await?;
                if Siblings::of(&sibling) != siblings {
                    return Err(NotesViolation::NotSibling { id: id.to_owned() }.into());
                }
                Spot::After(sibling.number)
            }
        };
        self.add(siblings, spot, content).await
    }

    /// Creates a block below another one: as its first child if it has children, and else as its
    /// next sibling.
    ///
    /// # Errors
    /// Returns the errors of [`create_block`](Self::create_block).
    pub async fn insert_below(&mut self, id: &str, content: &str) -> Result<Block, NotesError> {
        judge_content(content)?;
        let above = self.block(id).await?;
        let inside = Siblings { page: above.page, parent: Some(above.number) };
        if self.neighbours(inside, Spot::First).await?.1.is_some() {
            self.add(inside, Spot::First, content).await
        } else {
            self.add(Siblings::of(&above), Spot::After(above.number), content).await
        }
    }

    /// Replaces the content of a block.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: content, a block of this user.
    pub async fn update_block(&mut self, id: &str, content: &str) -> Result<Block, NotesError> {
        judge_content(content)?;
        let mut block = self.block(id).await?;
        if block.content != content {
            write_content(self.db, block.number, content, &self.scope_of(block.page)).await?;
            self.blocks_changed(block.page_id, &[block.id]).await?;
            content.clone_into(&mut block.content);
        }
        Ok(block)
    }

    /// Appends a text to the content of a block, after `separator` if the block is not empty.
    ///
    /// # Errors
    /// Returns the errors of [`update_block`](Self::update_block), for the content that results.
    pub async fn append_to_block(
        &mut self,
        id: &str,
        text: &str,
        separator: &str,
    ) -> Result<Block, NotesError> {
        let block = self.block(id).await?;
        let between = if block.content.is_empty() { "" } else { separator };
        self.update_block(id, &format!("{}{between}{text}", block.content)).await
    }

    /// Deletes a block. Its children take its place in their order, and count as changed too.
    ///
    /// # Errors
    /// Returns [`NotesViolation::UnknownBlock`], for others' blocks too.
    pub async fn delete_block(&mut self, id: &str) -> Result<(), NotesError> {
        let block = self.block(id).await?;
        let children: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM notes_blocks WHERE parent = $1 ORDER BY position, number",
        )
        .bind(block.number)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("read the blocks in a block"))?;
        if !children.is_empty() {
            self.lift(block.number, Siblings::of(&block), children.len()).await?;
        }
        remove(self.db, block.number).await?;
        let mut changed = vec![block.id];
        for id in &children {
            changed.push(block_id(id)?);
        }
        self.blocks_changed(block.page_id, &changed).await
    }

    /// Moves the children of a block to the gap between it and its next sibling.
    async fn lift(
        &mut self,
        number: i64,
        siblings: Siblings,
        children: usize,
    ) -> Result<(), NotesError> {
        let mut room = step(self.neighbours(siblings, Spot::After(number)).await?, children);
        if room.is_none() {
            self.spread(siblings).await?;
            room = step(self.neighbours(siblings, Spot::After(number)).await?, children);
        }
        let (from, step) = room.ok_or(NotesError::Corrupt { what: "the order of blocks" })?;
        sqlx::query(
            "UPDATE notes_blocks SET parent = $1, position = $2 + $3 * ranked.place FROM (
                SELECT number, row_number() OVER (ORDER BY position, number) AS place
                FROM notes_blocks WHERE parent = $4
             ) ranked WHERE notes_blocks.number = ranked.number",
        )
        .bind(siblings.parent)
        .bind(from)
        .bind(step)
        .bind(number)
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("move blocks up"))
    }

    async fn add(
        &mut self,
        siblings: Siblings,
        spot: Spot,
        content: &str,
    ) -> Result<Block, NotesError> {
        let position = self.place(siblings, spot).await?;
        let scope = self.scope_of(siblings.page);
        let number =
            insert(self.db, siblings, position, content, &scope, BlockId(Uuid::now_v7())).await?;
        let row: BlockRow = sqlx::query_as(blocks!("WHERE block.number = $1"))
            .bind(number)
            .fetch_one(&mut *self.db)
            .await
            .map_err(failed_to("read a new block"))?;
        let block = Block::try_from(row)?;
        self.blocks_changed(block.page_id, &[block.id]).await?;
        Ok(block)
    }
}

/// Returns the position before the first of `count` blocks between two neighbours, and the step
/// from one to the next.
#[expect(clippy::cast_precision_loss, reason = "there are at most some thousands")]
fn step((before, after): (Option<f64>, Option<f64>), count: usize) -> Option<(f64, f64)> {
    let from = before?;
    let to = after.unwrap_or(from + count as f64 + 1.0);
    let step = (to - from) / (count as f64 + 1.0);
    let finest = from.abs().max(to.abs()).max(1.0) * f64::EPSILON * 4.0;
    (step > finest).then_some((from, step))
}

/// Inserts a block and its words, and returns its number.
pub(super) async fn insert(
    db: &mut SqliteConnection,
    siblings: Siblings,
    position: f64,
    content: &str,
    scope: &str,
    id: BlockId,
) -> Result<i64, NotesError> {
    let number = insert_row(db, siblings, position, content, id).await?;
    index(db, number, content, scope).await?;
    Ok(number)
}

/// Inserts a block without its words, and returns its number.
pub(super) async fn insert_row(
    db: &mut SqliteConnection,
    siblings: Siblings,
    position: f64,
    content: &str,
    id: BlockId,
) -> Result<i64, NotesError> {
    sqlx::query_scalar(
        "INSERT INTO notes_blocks (id, page, parent, position, content)
         VALUES ($1, $2, $3, $4, $5) RETURNING number",
    )
    .bind(id.to_string())
    .bind(siblings.page)
    .bind(siblings.parent)
    .bind(position)
    .bind(content)
    .fetch_one(db)
    .await
    .map_err(failed_to("create a block"))
}

/// Replaces the content of a block, and its words.
pub(super) async fn write_content(
    db: &mut SqliteConnection,
    number: i64,
    content: &str,
    scope: &str,
) -> Result<(), NotesError> {
    sqlx::query("UPDATE notes_blocks SET content = $1 WHERE number = $2")
        .bind(content)
        .bind(number)
        .execute(&mut *db)
        .await
        .map_err(failed_to("change a block"))?;
    sqlx::query("DELETE FROM notes_words WHERE rowid = $1")
        .bind(number)
        .execute(&mut *db)
        .await
        .map_err(failed_to("take a block out of the index"))?;
    index(db, number, content, scope).await
}

/// Deletes a block without children. A trigger deletes its words.
pub(super) async fn remove(db: &mut SqliteConnection, number: i64) -> Result<(), NotesError> {
    sqlx::query("DELETE FROM notes_blocks WHERE number = $1")
        .bind(number)
        .execute(db)
        .await
        .map(drop)
        .map_err(failed_to("delete a block"))
}

/// Adds the words of a block to the index.
pub(super) async fn index(
    db: &mut SqliteConnection,
    number: i64,
    content: &str,
    scope: &str,
) -> Result<(), NotesError> {
    let searched = words(content);
    sqlx::query("INSERT INTO notes_words (rowid, one, two, scope) VALUES ($1, $2, $3, $4)")
        .bind(number)
        .bind(searched.one)
        .bind(searched.two)
        .bind(scope)
        .execute(db)
        .await
        .map(drop)
        .map_err(failed_to("index a block"))
}
