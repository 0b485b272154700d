//! Defines a block: one line of text in a page, perhaps inside another block.
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::page::PageId;

/// The most characters of a block.
pub const MAX_CONTENT_CHARS: usize = 10_000;

/// The id of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockId(pub Uuid);

impl BlockId {
    /// Reads an id. Returns `None` if no block can have it.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text.trim()).ok().map(Self)
    }
}

impl std::fmt::Display for BlockId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A block in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The id by which tools name it.
    pub id: BlockId,
    /// The page that contains it.
    pub page_id: PageId,
    /// The block that contains it. `None` on the outermost level.
    pub parent_id: Option<BlockId>,
    /// One line of text.
    pub content: String,
    /// Its order among the blocks of its parent.
    pub(super) position: f64,
    /// Its number in the tables.
    pub(super) number: i64,
    pub(super) page: i64,
    pub(super) parent: Option<i64>,
}

/// A block in reading order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutlineLine {
    /// The id of the block.
    pub id: BlockId,
    /// The number of blocks around it.
    pub depth: usize,
    /// One line of text.
    pub content: String,
}

/// A block to be created on a new page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlock {
    /// One line of text.
    pub content: String,
    /// The depth of its nesting.
    pub indent: u32,
}
