//! Reads rows of the tables.
use sqlx::FromRow;

use super::{
    super::{
        block::{Block, BlockId},
        page::{Page, PageId},
    },
    NotesError,
};

/// Selects pages as [`PageRow`]s.
macro_rules! pages {
    ($rest:literal) => {
        concat!(
            "SELECT page.number, page.id, page.title, above.id AS parent_id, page.blocks,
                EXISTS (SELECT 1 FROM notes_pages inside WHERE inside.parent = page.number) AS is_directory
             FROM notes_pages page LEFT JOIN notes_pages above ON above.number = page.parent ",
            $rest
        )
    };
}
pub(super) use pages;

/// Selects blocks as [`BlockRow`]s.
macro_rules! blocks {
    ($rest:literal) => {
        concat!(
            "SELECT block.number, block.id, block.page, page.id AS page_id, block.parent, above.id AS parent_id,
                block.position, block.content
             FROM notes_blocks block JOIN notes_pages page ON page.number = block.page
                LEFT JOIN notes_blocks above ON above.number = block.parent ",
            $rest
        )
    };
}
pub(super) use blocks;

/// The columns of a page.
#[derive(Debug, FromRow)]
pub(super) struct PageRow {
    number: i64,
    id: String,
    title: String,
    parent_id: Option<String>,
    blocks: u32,
    is_directory: bool,
}

impl TryFrom<PageRow> for Page {
    type Error = NotesError;

    fn try_from(row: PageRow) -> Result<Self, NotesError> {
        let PageRow { number, id, title, parent_id, blocks, is_directory } = row;
        let parent_id = parent_id.map(|id| page_id(&id)).transpose()?;
        Ok(Self { id: page_id(&id)?, title, parent_id, is_directory, block_count: blocks, number })
    }
}

/// The columns of a block.
#[derive(Debug, FromRow)]
pub(super) struct BlockRow {
    number: i64,
    id: String,
    page: i64,
    page_id: String,
    parent: Option<i64>,
    parent_id: Option<String>,
    position: f64,
    content: String,
}

impl TryFrom<BlockRow> for Block {
    type Error = NotesError;

    fn try_from(row: BlockRow) -> Result<Self, NotesError> {
        let BlockRow { number, id, page, page_id: of, parent, parent_id, position, content } = row;
        let parent_id = parent_id.map(|id| block_id(&id)).transpose()?;
        let id = block_id(&id)?;
        let page_id = page_id(&of)?;
        Ok(Self { id, page_id, parent_id, content, position, number, page, parent })
    }
}

pub(super) fn page_id(id: &str) -> Result<PageId, NotesError> {
    PageId::parse(id).ok_or(NotesError::Corrupt { what: "the id of a page" })
}

pub(super) fn block_id(id: &str) -> Result<BlockId, NotesError> {
    BlockId::parse(id).ok_or(NotesError::Corrupt { what: "the id of a block" })
}
